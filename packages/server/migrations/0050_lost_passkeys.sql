-- A code by which another device of the person adds its passkey: one at a time.
create table passkey_invites (
  user_id uuid primary key references users on delete cascade,
  code_hash bytea not null,
  expires_at timestamptz(3) not null
);

create table passkey_recovery_codes (
  user_id uuid not null references users on delete cascade,
  code_hash bytea not null,
  primary key (user_id, code_hash)
);

-- All passkeys of a person are taken away then, unless one of them says no before.
create table passkey_resets (
  user_id uuid primary key references users on delete cascade,
  -- In whose log it is written when it takes effect.
  workspace_id uuid not null,
  asked_at timestamptz(3) not null default guild_now(),
  effective_at timestamptz(3) not null
);
create index passkey_resets_due on passkey_resets (effective_at);

alter table push_messages drop constraint push_messages_kind_check;
alter table push_messages add constraint push_messages_kind_check
  check (kind in ('asked', 'ended', 'digest', 'test', 'reset'));

-- Every browser of the person is told, quiet hours or not: it may be somebody else who asks.
create function push_passkey_reset() returns trigger language plpgsql as $$
begin
  insert into push_messages (subscription_id, kind, expires_at)
    select id, 'reset', new.effective_at from push_subscriptions where user_id = new.user_id;
  return null;
end $$;
create trigger passkey_resets_asked after insert on passkey_resets for each row execute function push_passkey_reset();

create function push_passkey_reset_over() returns trigger language plpgsql as $$
begin
  delete from push_messages m using push_subscriptions s
    where s.user_id = old.user_id and m.subscription_id = s.id and m.kind = 'reset' and m.sent_at is null;
  return null;
end $$;
create trigger passkey_resets_over after delete on passkey_resets
  for each row execute function push_passkey_reset_over();

-- Also a browser that wants to be told from now on: whoever asked may have ended the sessions of all others before.
create function push_passkey_reset_later() returns trigger language plpgsql as $$
begin
  insert into push_messages (subscription_id, kind, expires_at)
    select new.id, 'reset', effective_at from passkey_resets
    where user_id = new.user_id and effective_at > guild_now();
  return null;
end $$;
create trigger push_subscriptions_told_of_reset after insert on push_subscriptions
  for each row execute function push_passkey_reset_later();
