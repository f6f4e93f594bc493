-- What the reply under way has taken so far: it is paid when somebody ends the run in the middle of it.
alter table thread_runs add column pending_milli_ds bigint not null default 0 check (pending_milli_ds >= 0);
alter table thread_runs add column pending_input_tokens bigint not null default 0;
alter table thread_runs add column pending_output_tokens bigint not null default 0;

-- Since when a waiting run could go on, if there were a place.
alter table thread_runs add column over_at timestamptz(3);
create index thread_runs_over on thread_runs (workspace_id, id) where status = 'waiting' and over_at is not null;

-- Whoever came first goes on first, whether it stands in line or has waited for something else.
create or replace function may_chat(workspace uuid, thread bigint, run bigint, places integer) returns boolean
language plpgsql volatile as $$
begin
  perform pg_advisory_xact_lock(hashtextextended(workspace::text, 9));
  return (select count(*) from thread_runs where workspace_id = workspace and status = 'working') < places
    and not exists (
      select from thread_runs q join threads t on t.id = q.thread_row_id
      where q.workspace_id = workspace and q.status = 'queued' and q.id < run
        and q.thread_row_id <> thread and t.active_run is null)
    and not exists (
      select from thread_runs w
      where w.workspace_id = workspace and w.status = 'waiting' and w.over_at is not null and w.id < run);
end $$;

-- By which run of a chat it was started, if by any: `chat_…`.
alter table executions add column chat_run_id text;
create index executions_of_chat on executions (chat_run_id) where chat_run_id is not null;
create index executions_open_of_chat on executions (id) where chat_run_id is not null and status in ('idle', 'working');
create index thread_runs_by_asker on thread_runs (parent_run) where parent_run is not null;

-- What came of asking an agent: whether anything of it still goes on, and what all of it cost.
create function chat_caused(asked uuid) returns table (is_open boolean, cost_milli_ds bigint)
language sql stable as $$
  with recursive family as (
    select id, run_id, status, r.cost_milli_ds + r.pending_milli_ds as cost from thread_runs r where r.run_id = asked
    union all
    select r.id, r.run_id, r.status, r.cost_milli_ds + r.pending_milli_ds
    from thread_runs r join family f on r.parent_run = f.id),
  caused as (
    select status, cost from family
    union all
    select e.status, e.cost_milli_ds from executions e join family f on e.chat_run_id = 'chat_' || f.run_id)
  select coalesce(bool_or(status not in ('completed', 'failed')), false), coalesce(sum(cost), 0)::bigint from caused
$$;
