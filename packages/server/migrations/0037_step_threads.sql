-- Agents of workflows that use tools: what their answer must fit, and which are open for a run that ends.
alter table thread_runs add column output_schema json;
create index thread_runs_of_workflow_run on thread_runs (workflow_run_id)
  where workflow_run_id is not null and status in ('queued', 'working', 'waiting');
