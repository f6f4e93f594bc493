-- What happened elsewhere and concerns a conversation. The thread's log tells it; the row says who has seen it.
create table notifications (
  id text primary key,
  workspace_id uuid not null references workspaces on delete cascade,
  thread_row_id bigint not null references threads on delete cascade,
  agent_slug text not null,
  source text not null,
  kind text not null,
  priority text not null check (priority in ('low', 'medium', 'high', 'urgent')),
  status text not null check (status in ('pending', 'delivered', 'seen', 'dismissed')),
  summary text not null,
  payload json not null,
  -- One row for each thing that happened. What happens again has a higher revision, and opens its row again.
  dedupe_key text not null,
  revision integer not null default 0,
  -- Of the event that told it last.
  sequence integer not null,
  created_at timestamptz(3) not null default guild_now(),
  delivered_at timestamptz(3),
  seen_at timestamptz(3),
  unique (thread_row_id, dedupe_key)
);
create index notifications_by_workspace on notifications (workspace_id, created_at desc, id desc);
create index notifications_by_thread on notifications (thread_row_id, created_at desc, id desc);
create index notifications_by_age on notifications (created_at);

-- What the thread that a run was launched in has not been told yet. It is noted in the transaction of the change and
-- deleted in the one that tells it, so no death in between leaves a thread without word.
create table notifications_due (
  run_id text not null,
  status text not null,
  revision integer not null,
  due_at timestamptz(3) not null default guild_now(),
  primary key (run_id, status, revision)
);
create index notifications_due_by_time on notifications_due (due_at);

create function run_notification_due() returns trigger language plpgsql as $$
begin
  insert into notifications_due (run_id, status, revision) values (new.run_id, new.status, new.pauses) on conflict do nothing;
  return null;
end $$;
create trigger workflow_runs_notification_due after update of status on workflow_runs for each row
  when (new.conversation_id is not null and new.status <> old.status
    and new.status in ('success', 'failed', 'canceled', 'suspended'))
  execute function run_notification_due();

-- When a notification last woke its agent.
alter table threads add column last_woken_at timestamptz(3);
