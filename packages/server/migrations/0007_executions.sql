-- A run of a skill. The row is the truth: its state, who pays, which attempt may write, and the last event's number.
create table executions (
  id bigint generated always as identity primary key,
  execution_id text not null unique,
  workspace_id uuid not null references workspaces on delete cascade,
  user_id uuid not null,
  api_key_id bigint,
  status text not null check (status in ('idle', 'working', 'completed', 'failed')),
  stop_reason text check (stop_reason in ('end_turn', 'interrupt', 'limit_reached', 'error')),
  error_code text,
  skill_id bigint not null,
  skill_slug text not null,
  skill_name text not null,
  skill_version integer not null,
  bundle_checksum text not null references bundles,
  source text not null,
  interface text not null,
  input_text text not null,
  -- What came with it is a bundle too.
  attachments_checksum text references bundles,
  max_cost_milli_ds bigint,
  reserved_milli_ds bigint not null default 0,
  cost_milli_ds bigint not null default 0 check (cost_milli_ds >= 0),
  input_tokens bigint not null default 0,
  output_tokens bigint not null default 0,
  summary text,
  parent_execution_id text,
  trace_id text not null,
  workflow_run_id text,
  -- What must be told when it ends, in the engine: the step of a workflow that waits for it.
  awakeable_id text,
  -- Which attempt of which step it is, so that a step that is repeated after a crash finds it again.
  step_key text unique,
  -- Numbers of events are allocated here, in the statement that writes them.
  last_sequence integer not null default 0,
  -- The last batch of events that a worker wrote, so that one whose answer was lost is not written twice.
  last_batch bigint not null default 0,
  -- Only this attempt may write; a worker that wakes up late finds a higher number.
  attempt integer not null default 0,
  worker_id text,
  lease_until timestamptz(3),
  -- When the worker saw the last process of a canceled run gone.
  process_gone_at timestamptz(3),
  queued_at timestamptz(3),
  created_at timestamptz(3) not null default guild_now(),
  started_at timestamptz(3),
  completed_at timestamptz(3)
) with (fillfactor = 70);
-- The second wall behind the slot.
create unique index executions_one_working on executions (workspace_id) where status = 'working';
create index executions_by_workspace on executions (workspace_id, id desc);
create index executions_by_source on executions (workspace_id, source, id desc);
create index executions_by_interface on executions (workspace_id, interface, id desc);
create index executions_queued on executions (workspace_id, queued_at, id) where status = 'idle' and queued_at is not null;
create index executions_working_lease on executions (lease_until) where status = 'working';
create index executions_idle on executions (created_at) where status = 'idle';
create index executions_by_trace on executions (trace_id, id);
create index executions_by_bundle on executions (bundle_checksum);
create index executions_by_attachments on executions (attachments_checksum) where attachments_checksum is not null;
create index executions_awaited on executions (id) where awakeable_id is not null and status in ('completed', 'failed');
create index executions_open_by_run on executions (workflow_run_id)
  where workflow_run_id is not null and status in ('idle', 'working');
create index executions_working_by_key on executions (api_key_id) where status in ('idle', 'working');

-- Append-only. Partitioned by ranges of executions: all events of one execution lie in one partition, and a range whose
-- executions have all ended long ago is dropped as a whole. Partitions are made ahead by a function, never by hand.
create table execution_events (
  execution_id bigint not null,
  sequence integer not null,
  type text not null,
  -- Text rather than jsonb: it is sent as it was written.
  payload text not null,
  at timestamptz(3) not null default guild_now(),
  primary key (execution_id, sequence)
) partition by range (execution_id);

create function make_event_partitions(executions_per_partition bigint, ahead integer) returns integer
language plpgsql as $$
declare
  highest bigint := coalesce((select max(id) from executions), 0);
  first_range bigint := highest / executions_per_partition;
  made integer := 0;
  name text;
begin
  perform pg_advisory_xact_lock(hashtext('make_event_partitions'));
  for range in first_range .. first_range + ahead loop
    name := format('execution_events_%s', range);
    if to_regclass(name) is null then
      -- Attached rather than made in place: that would lock the log against everybody.
      execute format('create table %I (like execution_events including defaults)', name);
      execute format('alter table execution_events attach partition %I for values from (%s) to (%s)',
        name, range * executions_per_partition, (range + 1) * executions_per_partition);
      made := made + 1;
    end if;
  end loop;
  return made;
end $$;
select make_event_partitions(200000, 2);

-- A trace is the index of a lineage; its turns are read from its producer's log.
create table traces (
  id text primary key,
  workspace_id uuid not null references workspaces on delete cascade,
  kind text not null check (kind in ('execution', 'chat')),
  title text not null,
  status text not null,
  user_id uuid not null,
  api_key_id bigint,
  agent_slug text,
  execution_id text,
  trace_key text not null,
  total_cost_milli_ds bigint not null default 0,
  started_at timestamptz(3) not null default guild_now(),
  last_activity_at timestamptz(3) not null default guild_now()
);
create index traces_by_workspace on traces (workspace_id, last_activity_at desc, id desc);
create index traces_by_key on traces (trace_key);
