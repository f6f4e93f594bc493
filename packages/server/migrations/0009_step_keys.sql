-- What a request's body could once claim to be: the step of somebody else's run, or an address at the engine.
update executions set workflow_run_id = null, awakeable_id = null, step_key = null
  where awakeable_id !~ '^(prom|sign)_1[A-Za-z0-9_-]+$'
    or exists (
      select from workflow_runs
      where run_id = executions.workflow_run_id and workspace_id <> executions.workspace_id
    );

-- The key of a step is unique within its run, and a run belongs to one workspace: nobody else's execution can stand
-- where a step looks for its own. The key comes first, so that the version before finds it as fast as it did.
create unique index executions_by_step on executions (step_key, workflow_run_id, workspace_id)
  where step_key is not null;
alter table executions drop constraint executions_step_key_key;
