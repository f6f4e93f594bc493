-- What an agent asked a person for: a consent over a set of scopes, or one more permission. `expired` is how a
-- pending row reads once its time is over; nothing has to happen for that.
create table approval_requests (
  id text primary key,
  kind text not null check (kind in ('consent', 'permission')),
  key_id bigint not null references api_keys on delete cascade,
  user_id uuid not null references users on delete cascade,
  workspace_id uuid not null references workspaces on delete cascade,
  scopes text[] not null,
  mode text check (mode in ('persistent', 'session', 'one_time')),
  reason text,
  action jsonb,
  link_code text unique,
  -- Equal for requests that ask for the same thing: while one is pending, the next shares its id.
  same_as bytea not null,
  status text not null default 'pending' check (status in ('pending', 'granted', 'denied')),
  granted_mode text check (granted_mode in ('persistent', 'session', 'one_time')),
  granted_until timestamptz(3),
  deny_reason text,
  created_at timestamptz(3) not null default guild_now(),
  expires_at timestamptz(3) not null,
  decided_at timestamptz(3)
);
create index approval_requests_by_user on approval_requests (user_id, created_at desc, id desc);
create index approval_requests_pending_by_key on approval_requests (key_id) where status = 'pending';
create index approval_requests_history on approval_requests (key_id, created_at);
create index approval_requests_by_expiry on approval_requests (expires_at);

-- Permissions that end by themselves. A one_time grant is spent by the update that sets consumed_at.
create table grants (
  id bigint generated always as identity primary key,
  key_id bigint not null references api_keys on delete cascade,
  workspace_id uuid not null references workspaces on delete cascade,
  scope text not null,
  mode text not null check (mode in ('session', 'one_time')),
  request_id text references approval_requests on delete set null,
  -- A one_time grant may be good for one exact request only.
  bound_method text,
  bound_path text,
  bound_body_sha256 text,
  created_at timestamptz(3) not null default guild_now(),
  expires_at timestamptz(3) not null,
  consumed_at timestamptz(3)
);
create index grants_live on grants (key_id, scope) where consumed_at is null;
create index grants_by_expiry on grants (expires_at);

alter table activations add column seen_by uuid references users on delete set null;
create index activations_by_decider on activations (decided_by, created_at desc);
create index activations_by_viewer on activations (seen_by, created_at desc);

create table passkeys (
  id text primary key,
  user_id uuid not null references users on delete cascade,
  public_key bytea not null,
  counter bigint not null,
  transports text[] not null default '{}',
  backed_up boolean not null,
  name text not null,
  created_at timestamptz(3) not null default guild_now(),
  last_used_at timestamptz(3)
);
create index passkeys_by_user on passkeys (user_id, created_at);

-- A challenge is good once, for one person and for exactly what it was made for.
create table passkey_challenges (
  challenge_hash bytea primary key,
  user_id uuid not null references users on delete cascade,
  purpose text not null,
  subject_hash bytea not null,
  expires_at timestamptz(3) not null
);
create index passkey_challenges_by_expiry on passkey_challenges (expires_at);

create table oauth_clients (
  id text primary key,
  user_id uuid not null references users on delete cascade,
  name text not null,
  redirect_uris text[] not null,
  secret_hash bytea,
  created_at timestamptz(3) not null default guild_now()
);
create index oauth_clients_by_user on oauth_clients (user_id, created_at);

-- Whatever the authorization server keeps between requests. Ids are stored hashed: some of them are tokens. A grant
-- bears its own id as grant_id, and what was issued under it bears the same: without the grant none of it is good.
create table oauth_records (
  id bigint generated always as identity unique,
  model text not null,
  id_hash bytea not null,
  payload jsonb not null,
  grant_id text,
  client_id text references oauth_clients on delete cascade,
  user_id uuid references users on delete cascade,
  -- Of a grant only: where it is good.
  workspace_id uuid references workspaces on delete cascade,
  consumed_at timestamptz(3),
  expires_at timestamptz(3) not null,
  primary key (model, id_hash)
);
create index oauth_records_by_grant on oauth_records (grant_id);
create index oauth_records_by_client on oauth_records (client_id);
create index oauth_records_by_user on oauth_records (user_id);
create index oauth_records_by_expiry on oauth_records (expires_at);

create table profiles (
  user_id uuid primary key references users on delete cascade,
  bio text,
  timezone text,
  facts jsonb not null default '{}',
  updated_at timestamptz(3) not null default guild_now()
);

-- Addresses that work once, by the id inside them, until they would have ended anyway.
create table used_addresses (
  id text primary key,
  expires_at timestamptz(3) not null
);
create index used_addresses_by_expiry on used_addresses (expires_at);

-- The audit log. A row is never changed; who could change it would have to drop the trigger first.
create table activity (
  id bigint generated always as identity primary key,
  workspace_id uuid,
  user_id uuid,
  api_key_id bigint,
  actor_kind text not null check (actor_kind in ('session', 'key', 'oauth', 'anonymous')),
  type text not null,
  details jsonb not null default '{}',
  at timestamptz(3) not null default guild_now()
);
create index activity_by_workspace on activity (workspace_id, id desc);
create index activity_by_type on activity (workspace_id, type, id desc);
create index activity_by_user on activity (workspace_id, user_id, id desc);
create index activity_by_key on activity (workspace_id, api_key_id, id desc);
create index activity_by_time on activity (workspace_id, at, id desc);

create function refuse_change() returns trigger language plpgsql as $$
begin
  raise exception 'rows of % are never changed', tg_table_name;
end $$;
create trigger activity_is_append_only before update or delete on activity
  for each row execute function refuse_change();
