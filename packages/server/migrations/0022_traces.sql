-- Traces can be read: listed by any filter, their turns in one order, what others append, what a lineage costs.
alter table traces
  -- Breaks ties in lists, in a fifth of the bytes that the id would take in every index.
  add column row_id bigint generated always as identity unique,
  -- What this was made of: the trace of what is run again or remixed.
  add column parent_trace_id text,
  -- What a conversation's trace is about.
  add column thread_row_id bigint,
  -- The highest number that a turn has been given.
  add column last_seq bigint not null default 0,
  -- How many turns were appended.
  add column appended_turns integer not null default 0,
  -- Who works on it, since it was handed over.
  add column holder_key_id bigint,
  add column holder_slug text,
  add column held_since timestamptz(3),
  -- Lists are put together from the statuses there are.
  add constraint traces_status_check check (status in ('idle', 'running', 'waiting', 'completed', 'failed'));
-- The catalogue changes last_seq alone, which no index has: with room in its page the row stays where it is.
alter table traces set (fillfactor = 80);

-- Who it was started by, as they call themselves. Attribution only.
alter table executions add column agent_slug text;
alter table workflow_runs add column agent_slug text;

-- Any combination of filters is a range of one of these: kind and status have few values, each is a range of its own.
create index traces_listed on traces (workspace_id, kind, status, last_activity_at desc, row_id desc);
create index traces_listed_by_agent on traces
  (workspace_id, agent_slug, kind, status, last_activity_at desc, row_id desc);
create index traces_listed_by_api_key on traces
  (workspace_id, api_key_id, kind, status, last_activity_at desc, row_id desc);
create index traces_listed_by_agent_and_api_key on traces
  (workspace_id, agent_slug, api_key_id, kind, status, last_activity_at desc, row_id desc);
drop index traces_by_workspace;

-- What all traces of one key have cost together. Made with the first cost.
create table lineages (
  trace_key text primary key,
  workspace_id uuid not null references workspaces on delete cascade,
  settled_milli_ds bigint not null default 0 check (settled_milli_ds >= 0),
  -- What has been shown. More than was settled only after something ended free of charge, until others cost as much.
  shown_milli_ds bigint not null default 0
);
create index lineages_by_workspace on lineages (workspace_id);
insert into lineages (trace_key, workspace_id, settled_milli_ds)
  select trace_key, workspace_id, sum(total_cost_milli_ds) from traces
  group by trace_key, workspace_id having sum(total_cost_milli_ds) > 0;

-- A trigger, so that processes of the version before keep it right too.
create function count_trace_cost() returns trigger language plpgsql as $$
begin
  if new.total_cost_milli_ds < old.total_cost_milli_ds then
    raise exception 'the cost of a trace does not fall (%)', new.id;
  end if;
  insert into lineages (trace_key, workspace_id, settled_milli_ds)
    values (new.trace_key, new.workspace_id, new.total_cost_milli_ds - old.total_cost_milli_ds)
    on conflict (trace_key) do update set settled_milli_ds = lineages.settled_milli_ds + excluded.settled_milli_ds;
  return null;
end $$;
create trigger trace_cost_is_counted after update of total_cost_milli_ds on traces
  for each row when (new.total_cost_milli_ds <> old.total_cost_milli_ds) execute function count_trace_cost();

-- What runs now and what it has used so far: at most one execution of a workspace.
create function running_costs(workspace uuid) returns table (trace_id text, trace_key text, cost_milli_ds bigint)
language sql stable as $$
  select t.id, t.trace_key, e.cost_milli_ds from executions e join traces t on t.id = e.trace_id
  where e.workspace_id = workspace and e.status = 'working'
$$;

-- Who produces turns of a trace, and how far the catalogue has come with them. Not columns of the producer: its end holds
-- its row and then the trace's, and a catalogue that held them the other way round would deadlock with it.
create table trace_producers (
  trace_id text not null references traces on delete cascade,
  -- In the order in which they joined.
  id bigint generated always as identity,
  kind text not null check (kind in ('execution', 'thread')),
  producer_row_id bigint not null,
  agent_slug text,
  indexed_through integer not null default 0,
  -- It has ended, and all of it is in the catalogue.
  done boolean not null default false,
  primary key (trace_id, id),
  unique (kind, producer_row_id, trace_id)
);
create index trace_producers_open on trace_producers (trace_id, id) where not done;

-- The catalogue: the numbers first_seq to last_seq are a producer's events from first_event on.
create table trace_pieces (
  trace_id text not null references traces on delete cascade,
  first_seq bigint not null,
  last_seq bigint not null check (last_seq >= first_seq),
  producer_id bigint not null,
  first_event integer not null,
  primary key (trace_id, first_seq)
);

-- What was appended.
create table trace_turns (
  trace_id text not null references traces on delete cascade,
  seq bigint not null,
  type text not null check (type in
    ('user.message', 'agent.text', 'agent.thinking', 'tool.call', 'tool.result', 'error')),
  -- Text rather than jsonb: it is given back as it was written.
  payload text not null,
  agent_slug text,
  user_id uuid not null,
  api_key_id bigint,
  at timestamptz(3) not null default guild_now(),
  primary key (trace_id, seq)
);

-- An execution joins its trace when it starts: one that never runs produces nothing. By a trigger as well, because a
-- process of the version before that starts one during a deploy would leave it out for good.
create function join_trace() returns trigger language plpgsql as $$
begin
  insert into trace_producers (trace_id, kind, producer_row_id, agent_slug)
    select id, 'execution', new.id, new.agent_slug from traces where id = new.trace_id on conflict do nothing;
  return null;
end $$;
create trigger execution_joins_trace after update of status on executions
  for each row when (old.status = 'idle' and new.status = 'working') execute function join_trace();
insert into trace_producers (trace_id, kind, producer_row_id)
  select e.trace_id, 'execution', e.id from executions e join traces t on t.id = e.trace_id
  where e.started_at is not null order by e.started_at, e.id;
