-- Browsers that are told of what waits for their person. Each ends with the session that it was made in.
create table push_subscriptions (
  id text primary key,
  user_id uuid not null references users on delete cascade,
  session_id bigint not null references sessions on delete cascade,
  -- One row for one endpoint, of whoever has it now.
  endpoint_hash bytea not null unique,
  endpoint text not null,
  origin text not null,
  p256dh bytea not null,
  auth bytea not null,
  -- Which of our keys it was made with: its push service takes messages signed by no other.
  vapid_version integer not null,
  label text,
  created_at timestamptz(3) not null default guild_now(),
  delivered_at timestamptz(3),
  failures integer not null default 0,
  failing_since timestamptz(3)
);
create index push_subscriptions_by_user on push_subscriptions (user_id);
create index push_subscriptions_by_session on push_subscriptions (session_id);

create table notification_settings (
  user_id uuid primary key references users on delete cascade,
  approvals text not null check (approvals in ('all', 'sensitive', 'none')),
  questions boolean not null,
  budget boolean not null,
  quiet jsonb,
  digest jsonb,
  muted jsonb not null
);

-- What is to be told to browsers and is not yet shared out among them. Written with the change itself, whoever makes it:
-- nothing that waits is kept from people by a crash, and nothing is told that did not come about.
create table push_words (
  id bigint generated always as identity primary key,
  approval_id text not null references approval_requests on delete cascade,
  kind text not null check (kind in ('asked', 'ended'))
);

create table push_messages (
  id bigint generated always as identity primary key,
  subscription_id text not null references push_subscriptions on delete cascade,
  kind text not null check (kind in ('asked', 'ended', 'digest', 'test')),
  -- What it tells of; of a digest all that came in the quiet hours.
  approval_ids text[] not null default '{}',
  due_at timestamptz(3) not null default guild_now(),
  expires_at timestamptz(3) not null,
  attempts integer not null default 0,
  sent_at timestamptz(3)
);
create index push_messages_due on push_messages (due_at) where sent_at is null;
create index push_messages_by_approval on push_messages using gin (approval_ids);
create index push_messages_by_subscription on push_messages (subscription_id);
create index push_messages_by_expiry on push_messages (expires_at);
create unique index push_messages_one_waiting on push_messages (subscription_id, kind)
  where kind in ('digest', 'test') and sent_at is null;

create function push_word() returns trigger language plpgsql as $$
begin
  -- Where nobody wants to be told, an approval costs this look and no more.
  if exists (select from push_subscriptions) then
    insert into push_words (approval_id, kind) values (new.id, tg_argv[0]);
  end if;
  return null;
end $$;

create trigger approval_requests_asked after insert on approval_requests for each row
  when (new.status = 'pending') execute function push_word('asked');
create trigger approval_requests_asked_again after update on approval_requests for each row
  when (new.status = 'pending' and new.closed is null
    and (old.status <> 'pending' or (old.expires_at is not null and new.expires_at is null)))
  execute function push_word('asked');
create trigger approval_requests_ended after update on approval_requests for each row
  when (old.status = 'pending' and old.closed is null
    and (new.status <> 'pending' or new.closed is not null
      or (new.expires_at is distinct from old.expires_at and new.expires_at <= guild_now())))
  execute function push_word('ended');

-- Until when a person is not to be disturbed; null when they may be told now. Time zones are PostgreSQL's own.
create function quiet_until(quiet jsonb, digest jsonb, at timestamptz) returns timestamptz language plpgsql stable as $$
declare
  zone text := quiet ->> 'timezone';
  local timestamp := at at time zone zone;
  starts time := (quiet ->> 'from')::time;
  ends time := (quiet ->> 'to')::time;
  over timestamptz;
  told timestamptz;
begin
  if quiet is null or quiet = 'null' then return null; end if;
  if starts < ends then
    if local::time < starts or local::time >= ends then return null; end if;
    over := (local::date + ends) at time zone zone;
  elsif local::time >= starts then
    over := (local::date + 1 + ends) at time zone zone;
  elsif local::time < ends then
    over := (local::date + ends) at time zone zone;
  else
    return null;
  end if;
  if digest is null or digest = 'null' then return over; end if;
  local := over at time zone (digest ->> 'timezone');
  told := (local::date + (digest ->> 'at')::time) at time zone (digest ->> 'timezone');
  if told < over then
    told := (local::date + 1 + (digest ->> 'at')::time) at time zone (digest ->> 'timezone');
  end if;
  return told;
end $$;
