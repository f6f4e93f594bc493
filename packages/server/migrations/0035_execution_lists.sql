-- Lists of executions by status and by skill, newest first.
create index executions_by_status on executions (workspace_id, status, id desc);
create index executions_by_skill on executions (workspace_id, skill_slug, id desc);
