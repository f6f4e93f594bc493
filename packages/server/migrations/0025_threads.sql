-- Conversations with agents. The log of a thread is its journal: any worker goes on with any run by reading it.
create table threads (
  id bigint generated always as identity primary key,
  workspace_id uuid not null references workspaces on delete cascade,
  -- The client's word or ours.
  thread_id text not null,
  agent_slug text not null,
  title text not null default '',
  user_id uuid not null,
  api_key_id bigint,
  visibility text not null default 'workspace' check (visibility in ('workspace', 'private')),
  -- A step's is that of an agent in a workflow, and not listed.
  kind text not null default 'chat' check (kind in ('chat', 'step')),
  on_notification text not null default 'record' check (on_notification in ('record', 'wake')),
  -- How often notifications have woken its agent since a person last wrote.
  wakes_since_person smallint not null default 0,
  -- Of the trace that the first start opens. A private thread has none.
  trace_id text not null,
  last_sequence integer not null default 0,
  last_batch bigint not null default 0,
  active_run bigint,
  -- The fence: only this attempt writes as the active run. It rises whenever somebody else gets the right to.
  active_attempt integer not null default 0,
  tainted boolean not null default false,
  -- Of the newest thread.compacted.
  summary_sequence integer,
  cost_milli_ds bigint not null default 0,
  created_at timestamptz(3) not null default guild_now(),
  last_activity_at timestamptz(3) not null default guild_now(),
  unique (workspace_id, thread_id)
) with (fillfactor = 70);
create index threads_by_activity on threads (workspace_id, last_activity_at desc, id desc) where kind = 'chat';
create index threads_by_agent on threads (workspace_id, agent_slug, last_activity_at desc, id desc) where kind = 'chat';
-- Opened and never written to: these go after a day.
create index threads_empty on threads (created_at) where last_sequence = 0;

-- Append-only, partitioned like the events of executions.
create table thread_events (
  thread_row_id bigint not null,
  sequence integer not null,
  run_id uuid,
  type text not null,
  payload text not null,
  at timestamptz(3) not null default guild_now(),
  primary key (thread_row_id, sequence)
) partition by range (thread_row_id);

-- What tools got and gave beyond what an event tells: for the model and the trace, not for streams.
create table thread_outputs (
  thread_row_id bigint not null,
  sequence integer not null,
  output text not null,
  primary key (thread_row_id, sequence)
);

create function make_log_partitions(log text, counters text, rows_per_partition bigint, ahead integer) returns integer
language plpgsql as $$
declare
  highest bigint;
  made integer := 0;
  name text;
begin
  perform pg_advisory_xact_lock(hashtext('make_event_partitions'));
  execute format('select coalesce(max(id), 0) from %I', counters) into highest;
  for range in highest / rows_per_partition .. highest / rows_per_partition + ahead loop
    name := format('%s_%s', log, range);
    if to_regclass(name) is null then
      -- Attached rather than made in place: that would lock the log against everybody.
      execute format('create table %I (like %I including defaults)', name, log);
      execute format('alter table %I attach partition %I for values from (%s) to (%s)',
        log, name, range * rows_per_partition, (range + 1) * rows_per_partition);
      made := made + 1;
    end if;
  end loop;
  return made;
end $$;
-- Under its name for the version before.
create or replace function make_event_partitions(executions_per_partition bigint, ahead integer) returns integer
language sql as $$ select make_log_partitions('execution_events', 'executions', executions_per_partition, ahead) $$;
select make_log_partitions('thread_events', 'threads', 50000, 2);

-- A log goes with its thread, also when that goes with its workspace.
create function delete_thread_log() returns trigger language plpgsql as $$
begin
  delete from thread_events where thread_row_id = old.id;
  delete from thread_outputs where thread_row_id = old.id;
  return null;
end $$;
create trigger thread_log_goes_with_it after delete on threads for each row execute function delete_thread_log();

-- A run answers what was said to an agent. The row and the log are all that is known of it.
create table thread_runs (
  id bigint generated always as identity primary key,
  run_id uuid not null unique,
  workspace_id uuid not null references workspaces on delete cascade,
  thread_row_id bigint not null references threads on delete cascade,
  agent_slug text not null,
  agent_version integer not null,
  -- For whom it acts, and through which credential: a key, a session or an app's grant.
  user_id uuid not null,
  credential_kind text not null check (credential_kind in ('key', 'session', 'oauth')),
  credential_id bigint not null,
  -- A grant that is used up let it start.
  allowed_once boolean not null default false,
  authority jsonb,
  status text not null check (status in ('queued', 'working', 'waiting', 'completed', 'failed')),
  stop_reason text check (stop_reason in ('end_turn', 'interrupt', 'limit_reached', 'error')),
  error_code text,
  model text,
  -- What it answers: the first and the last message that are meant for it, and the last that it has taken in.
  message_sequence integer not null,
  last_message integer not null,
  delivered_through integer not null default 0,
  steps integer not null default 0,
  input_tokens bigint not null default 0,
  output_tokens bigint not null default 0,
  max_cost_milli_ds bigint,
  -- Used so far; of that, charged when segments ended; and what it had others spend.
  cost_milli_ds bigint not null default 0 check (cost_milli_ds >= 0),
  settled_milli_ds bigint not null default 0,
  delegated_milli_ds bigint not null default 0,
  -- From start or waking to wait or end.
  segment integer not null default 0,
  tainted boolean not null default false,
  depth smallint not null default 0,
  parent_run bigint,
  wait_kind text check (wait_kind in ('approval', 'execution', 'run')),
  wait_ref text,
  wait_tool_use text,
  wait_until timestamptz(3),
  -- Who has it, for operators; decides nothing.
  attempt integer not null default 0,
  worker_id text,
  -- It may go on; the engine has it; it last wrote.
  ready_at timestamptz(3),
  sent_at timestamptz(3),
  touched_at timestamptz(3),
  offers smallint not null default 0,
  -- Of an agent in a workflow: what waits for it.
  workflow_run_id text,
  awakeable_id text,
  step_key text unique,
  created_at timestamptz(3) not null default guild_now(),
  started_at timestamptz(3),
  completed_at timestamptz(3)
) with (fillfactor = 70);
-- The second wall behind the thread's lock.
create unique index thread_runs_one_active on thread_runs (thread_row_id) where status in ('working', 'waiting');
create index thread_runs_by_thread on thread_runs (thread_row_id, id desc);
create index thread_runs_unsent on thread_runs (ready_at, id) where status = 'working' and sent_at is null;
create index thread_runs_silent on thread_runs (touched_at) where status = 'working' and sent_at is not null;
create index thread_runs_ready on thread_runs (ready_at) where status = 'working';
create index thread_runs_waiting on thread_runs (wait_kind, wait_ref) where status = 'waiting';
create index thread_runs_wait_over on thread_runs (wait_until) where status = 'waiting';
create index thread_runs_queued on thread_runs (workspace_id, id) where status = 'queued';
create index thread_runs_queued_by_thread on thread_runs (thread_row_id, id) where status = 'queued';
create index thread_runs_working on thread_runs (workspace_id) where status = 'working';
create index thread_runs_open_by_workspace on thread_runs (workspace_id, id)
  where status in ('queued', 'working', 'waiting');
create index thread_runs_open_by_key on thread_runs (credential_id)
  where credential_kind = 'key' and status in ('queued', 'working', 'waiting');
create index thread_runs_awaited on thread_runs (id) where awakeable_id is not null and status in ('completed', 'failed');

-- Who listens, so that events from elsewhere know where to go; renewed as long as they do.
create table thread_subscriptions (
  thread_row_id bigint not null references threads on delete cascade,
  workspace_id uuid not null,
  process_id uuid not null,
  until timestamptz(3) not null,
  primary key (thread_row_id, process_id)
);
create index thread_subscriptions_live on thread_subscriptions (workspace_id, until desc);

-- Whether a run may start now: a place is free, and no thread without a run has waited longer. Whoever asks holds the
-- answer until the transaction ends, as with may_advance.
create function may_chat(workspace uuid, thread bigint, run bigint, places integer) returns boolean
language plpgsql volatile as $$
begin
  perform pg_advisory_xact_lock(hashtextextended(workspace::text, 9));
  return (select count(*) from thread_runs where workspace_id = workspace and status = 'working') < places
    and not exists (
      select from thread_runs q join threads t on t.id = q.thread_row_id
      where q.workspace_id = workspace and q.status = 'queued' and q.id < run
        and q.thread_row_id <> thread and t.active_run is null);
end $$;

alter table reservations drop constraint reservations_kind;
alter table reservations add constraint reservations_kind check (kind in ('execution', 'step', 'chat'));

-- What runs now and what it has used so far, beyond what was charged for it already.
create or replace function running_costs(workspace uuid)
returns table (trace_id text, trace_key text, cost_milli_ds bigint)
language sql stable as $$
  select t.id, t.trace_key, e.cost_milli_ds from executions e join traces t on t.id = e.trace_id
  where e.workspace_id = workspace and e.status = 'working'
  union all
  select t.id, t.trace_key, r.cost_milli_ds - r.settled_milli_ds
  from thread_runs r join threads h on h.id = r.thread_row_id join traces t on t.id = h.trace_id
  where r.workspace_id = workspace and r.status = 'working'
$$;
