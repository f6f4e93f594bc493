-- A suspended run asks more than the inbox takes of its workspace and key; it is asked when others are answered.
alter table workflow_runs add held_back boolean not null default false;
create index workflow_runs_held_back on workflow_runs (workspace_id, api_key_id, id) where held_back;
