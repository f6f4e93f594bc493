-- The runs of workflows that a message had launched, noted with the result that tells of each: the end of the run names them.
alter table thread_runs add column workflow_runs text[] not null default '{}';
