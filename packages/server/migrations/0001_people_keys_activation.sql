-- Deadlines are compared with this function and nothing else, so that a test can move the clock of every
-- process at once by replacing it.
create function guild_now() returns timestamptz language sql stable as 'select now()';

-- Timestamps keep milliseconds: what a client reads is exactly what is stored, so it can be a cursor.

create table users (
  id uuid primary key default gen_random_uuid(),
  email text,
  email_verified boolean not null default false,
  name text,
  mode text not null check (mode in ('byokmode', 'paygmode', 'basedmode')),
  created_at timestamptz(3) not null default guild_now()
);
create index users_by_verified_email on users (lower(email), created_at) where email_verified;

create table user_identities (
  issuer text not null,
  subject text not null,
  user_id uuid not null references users on delete cascade,
  primary key (issuer, subject)
);

create table workspaces (
  id uuid primary key default gen_random_uuid(),
  name text,
  kind text not null check (kind in ('personal', 'team')),
  created_at timestamptz(3) not null default guild_now()
);

create table workspace_members (
  workspace_id uuid not null references workspaces on delete cascade,
  user_id uuid not null references users on delete cascade,
  role text not null check (role in ('owner', 'member')),
  joined_at timestamptz(3) not null default guild_now(),
  primary key (workspace_id, user_id)
);
create index workspace_members_by_user on workspace_members (user_id);
create index workspace_members_by_joined on workspace_members (workspace_id, joined_at, user_id);

create table sessions (
  id bigint generated always as identity primary key,
  token_hash bytea not null unique,
  user_id uuid not null references users on delete cascade,
  workspace_id uuid not null references workspaces on delete cascade,
  created_at timestamptz(3) not null default guild_now(),
  expires_at timestamptz(3) not null
);
create index sessions_by_expiry on sessions (expires_at);

-- One-time codes that carry a finished sign-in from the browser to the app.
create table sign_in_codes (
  code_hash bytea primary key,
  user_id uuid not null references users on delete cascade,
  challenge text,
  expires_at timestamptz(3) not null
);
create index sign_in_codes_by_expiry on sign_in_codes (expires_at);

create table api_keys (
  id bigint generated always as identity primary key,
  workspace_id uuid not null references workspaces on delete cascade,
  user_id uuid not null references users on delete cascade,
  label text not null,
  -- The visible start of the secret; null until the secret has been made.
  hint text,
  scopes text[] not null default '{}',
  activated_at timestamptz(3),
  created_via text not null check (created_via in ('pairing', 'manual')),
  client_label text,
  client_ua text,
  client_ip text,
  created_at timestamptz(3) not null default guild_now(),
  expires_at timestamptz(3),
  spend_limit_milli_ds bigint check (spend_limit_milli_ds >= 0),
  last_used_at timestamptz(3),
  last_used_ip text,
  -- A paired key exists only until this moment unless its secret is claimed before; null once claimed.
  claim_before timestamptz(3),
  revoked_at timestamptz(3),
  revoked_because text check (revoked_because in ('revoked', 'leak_reported'))
);
create index api_keys_by_user on api_keys (user_id, id) where revoked_at is null;
create index api_keys_unclaimed on api_keys (claim_before) where claim_before is not null;

-- A key has one secret, and after a rotation the old one for a while beside it.
create table api_key_secrets (
  secret_hash bytea primary key,
  pepper_version smallint not null,
  key_id bigint not null references api_keys on delete cascade,
  expires_at timestamptz(3)
);
create index api_key_secrets_by_key on api_key_secrets (key_id);

create table activations (
  id bigint generated always as identity primary key,
  device_code_hash bytea not null unique,
  user_code text not null unique,
  status text not null default 'pending' check (status in ('pending', 'approved', 'denied', 'consumed')),
  client_label text not null,
  client_ua text not null,
  client_ip text not null,
  client_network text not null,
  created_at timestamptz(3) not null default guild_now(),
  expires_at timestamptz(3) not null,
  decided_by uuid references users on delete cascade,
  decided_at timestamptz(3),
  key_id bigint references api_keys on delete set null
);
create index activations_pending_by_network on activations (client_network, expires_at) where status = 'pending';
create index activations_by_expiry on activations (expires_at);
create index activations_by_key on activations (key_id);

-- Wrong codes a person has typed; the budget of guesses is counted here under the person's row lock.
create table code_misses (
  user_id uuid not null references users on delete cascade,
  missed_at timestamptz not null default guild_now()
);
create index code_misses_by_user on code_misses (user_id, missed_at);
create index code_misses_by_time on code_misses (missed_at);

-- Answers to creating requests, written in the transaction that creates.
create table idempotency_keys (
  caller text not null,
  idempotency_key text not null,
  request_hash bytea not null,
  answer jsonb,
  resource_id text,
  created_at timestamptz(3) not null default guild_now(),
  primary key (caller, idempotency_key)
);
create index idempotency_keys_by_time on idempotency_keys (created_at);
