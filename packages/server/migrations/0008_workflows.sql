-- Agents of a workspace; every workspace has one that is primary, made when it is first asked for.
create table agents (
  workspace_id uuid not null references workspaces on delete cascade,
  slug text not null,
  name text not null,
  description text not null,
  instructions text not null,
  model text,
  is_primary boolean not null default false,
  tools text[] not null default '{}',
  skills text[] not null default '{}',
  version_number integer not null default 1,
  created_at timestamptz(3) not null default guild_now(),
  updated_at timestamptz(3) not null default guild_now(),
  primary key (workspace_id, slug)
);
create unique index agents_one_primary on agents (workspace_id) where is_primary;

-- For what is set aside and was never settled.
create index reservations_open on reservations (created_at) where closed_at is null;

-- An installed workflow: the runtime row with the author's text as it was given, and a bundle as its file.
create table workflows (
  id bigint generated always as identity primary key,
  workspace_id uuid not null references workspaces on delete cascade,
  slug text not null,
  definition_id text not null,
  name text not null,
  description text not null,
  category text not null,
  requires_connector text,
  definition text not null,
  bundle_checksum text not null references bundles,
  installed_by text not null,
  installed_at timestamptz(3) not null default guild_now(),
  unique (workspace_id, slug)
);
create index workflows_by_definition on workflows (workspace_id, definition_id);
create index workflows_by_bundle on workflows (bundle_checksum);

-- A definition as runs keep it: the same text is kept once, however often it is launched.
create table workflow_definitions (
  checksum text primary key,
  definition text not null
);

-- What lists, details and streams read. The engine carries the run; this is its projection, and the place where
-- launch, resume and cancel are decided by compare-and-set.
create table workflow_runs (
  id bigint generated always as identity primary key,
  run_id text not null unique,
  workspace_id uuid not null references workspaces on delete cascade,
  -- The runtime id {workspaceId}:{slug}.
  workflow_id text not null,
  workflow_slug text not null,
  definition_id text not null,
  definition_checksum text not null references workflow_definitions,
  user_id uuid not null,
  api_key_id bigint,
  conversation_id text,
  source text not null,
  -- launching: not shown yet; void: its launch was refused, and nothing of it may happen.
  status text not null check (status in ('launching', 'void', 'running', 'suspended', 'success', 'failed', 'canceled')),
  -- json and not jsonb: texts with NUL are data like any other, and the order of keys shows in templates.
  inputs json not null,
  result json,
  error json,
  parent_run_id text,
  -- What a rerun takes over from the run before it.
  reuse json,
  -- Waits for one of the places in which runs of a workspace advance; null once it has been handed to the engine.
  queued_at timestamptz(3),
  -- Counts against the places: handed over, and neither suspended, asleep nor ended.
  advancing boolean not null default false,
  -- What carries it in the engine; null until the engine is known to have it.
  invocation_id text,
  -- How often it has suspended; an answer is to one of these.
  pauses integer not null default 0,
  -- The answer that was accepted last; taken_at is when the engine took it, and from then on nobody takes it back.
  resume_id text,
  resume_key text,
  resume_data json,
  resumed_at timestamptz(3),
  resume_taken_at timestamptz(3),
  -- When the engine was seen to have stopped working on a run that was canceled.
  left_at timestamptz(3),
  launched_at timestamptz(3) not null default guild_now(),
  updated_at timestamptz(3) not null default guild_now(),
  ended_at timestamptz(3),
  -- Raised by every change that a reader can see.
  version bigint not null default 1
) with (fillfactor = 70);
create index workflow_runs_by_workspace on workflow_runs (workspace_id, id desc) where status not in ('launching', 'void');
create index workflow_runs_by_status on workflow_runs (workspace_id, status, id desc);
create index workflow_runs_by_workflow on workflow_runs (workspace_id, workflow_id, id desc);
create index workflow_runs_advancing on workflow_runs (workspace_id) where advancing;
create index workflow_runs_queued on workflow_runs (workspace_id, queued_at, id) where queued_at is not null;
create index workflow_runs_launching on workflow_runs (launched_at) where status = 'launching';
-- None of these holds a column that changes with every step, so that most updates touch no index.
create index workflow_runs_unsent on workflow_runs (id)
  where status = 'running' and queued_at is null and invocation_id is null;
create index workflow_runs_untaken on workflow_runs (id) where resume_id is not null and resume_taken_at is null;
create index workflow_runs_leaving on workflow_runs (ended_at) where status = 'canceled' and left_at is null;

-- Whether a run may advance now: a place is free and nobody waits for one. Whoever asks holds the answer until the
-- transaction ends, because the next one counts only after it; so call it where the place is taken.
create function may_advance(workspace uuid, places integer) returns boolean
language plpgsql volatile as $$
begin
  perform pg_advisory_xact_lock(hashtextextended(workspace::text, 8));
  return not exists (select from workflow_runs where workspace_id = workspace and queued_at is not null)
    and (select count(*) from workflow_runs where workspace_id = workspace and advancing) < places;
end $$;

-- Takes the longest waiting run of a workspace off the queue, if there is a place for it; null otherwise.
create function take_queued_run(workspace uuid, places integer) returns text
language plpgsql volatile as $$
declare
  taken text;
begin
  perform pg_advisory_xact_lock(hashtextextended(workspace::text, 8));
  if (select count(*) from workflow_runs where workspace_id = workspace and advancing) >= places then
    return null;
  end if;
  update workflow_runs set queued_at = null, advancing = true, updated_at = guild_now(), version = version + 1
  where queued_at is not null and id = (
    select id from workflow_runs where workspace_id = workspace and queued_at is not null order by queued_at, id limit 1
  )
  returning run_id into taken;
  return taken;
end $$;

create table workflow_steps (
  run_id text not null references workflow_runs (run_id) on delete cascade,
  step_id text not null,
  position integer[] not null,
  record json not null,
  -- Records of one step only go forward: what a crash repeats late must not overwrite what came after it.
  revision bigint not null,
  primary key (run_id, step_id)
);

alter table approval_requests drop constraint approval_requests_kind_check;
alter table approval_requests add constraint approval_requests_kind_check
  check (kind in ('consent', 'permission', 'workflow', 'budget'));
-- A workflow may be launched without a key, and what it asks has no deadline.
alter table approval_requests alter column key_id drop not null;
alter table approval_requests alter column expires_at drop not null;
-- The run that asks, or the execution that reached the limit.
alter table approval_requests add column subject text;
-- json for the same reason as above.
alter table approval_requests add column question json;
create index approval_requests_by_workspace on approval_requests (workspace_id, created_at desc, id desc)
  where kind = 'workflow';
create index approval_requests_open_by_subject on approval_requests (subject) where status = 'pending';
create unique index approval_requests_one_budget on approval_requests (key_id)
  where kind = 'budget' and status = 'pending';
