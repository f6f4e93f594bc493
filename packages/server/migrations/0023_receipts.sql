-- By which right something was started, as it stood at the start. What a run starts in turn carries the run's.
alter table executions add column authority jsonb;
alter table workflow_runs add column authority jsonb;

-- Who let a key have a scope, when, by which request and with which passkey: of its own scopes by their names, of a grant
-- beside it. Unknown for what was approved before this.
alter table api_keys add column approvals jsonb not null default '{}';
alter table grants add column approved_by uuid, add column passkey text;

-- Who answered a request: the person, and the key if it was through one.
alter table approval_requests add column decided_by uuid, add column decided_by_key bigint;
create index approval_requests_by_subject on approval_requests (subject) where subject is not null;

-- What was charged for a step is found by the name of its run.
create index ledger_by_execution on ledger (execution_id text_pattern_ops) where execution_id is not null;

-- What has ended and has no receipt yet. Written with the end itself, whoever ends it, so that no end goes without one.
create table receipts_due (
  subject text primary key,
  kind text not null check (kind in ('execution', 'run')),
  ended_at timestamptz(3) not null default guild_now(),
  -- Until then a process is at it; if it dies, the next one takes it.
  taken_until timestamptz(3)
);
create index receipts_due_by_time on receipts_due (ended_at);

create function execution_receipt_due() returns trigger language plpgsql as $$
begin
  insert into receipts_due (subject, kind) values (new.execution_id, 'execution') on conflict do nothing;
  return null;
end $$;
create trigger executions_receipt_due after update of status on executions for each row
  when (new.status in ('completed', 'failed') and old.status not in ('completed', 'failed') and new.started_at is not null)
  execute function execution_receipt_due();

create function run_receipt_due() returns trigger language plpgsql as $$
begin
  insert into receipts_due (subject, kind) values (new.run_id, 'run') on conflict do nothing;
  return null;
end $$;
create trigger workflow_runs_receipt_due after update of status on workflow_runs for each row
  when (new.status in ('success', 'failed', 'canceled') and old.status not in ('success', 'failed', 'canceled'))
  execute function run_receipt_due();

-- The body is kept as it was signed. Numbers tell the order in which receipts of one lineage follow each other.
create table receipts (
  number bigint generated always as identity unique,
  id text primary key,
  workspace_id uuid not null references workspaces on delete cascade,
  trace_id text,
  trace_key text not null,
  subject text not null unique,
  body text not null,
  signature text not null,
  key_id text not null,
  at timestamptz(3) not null default guild_now()
);
create index receipts_by_lineage on receipts (trace_key, number);
create index receipts_by_trace on receipts (trace_id, number) where trace_id is not null;

create trigger receipts_are_never_changed before update on receipts
  for each row execute function refuse_change();
