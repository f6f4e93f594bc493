-- Runs of agents that were asked by other agents, as long as they are open: they end with whoever asked.
create index thread_runs_asked on thread_runs (parent_run)
  where parent_run is not null and status in ('queued', 'working', 'waiting');
