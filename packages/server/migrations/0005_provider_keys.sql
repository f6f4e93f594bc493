-- Keys of model providers that people brought along. They are encrypted under ENCRYPTION_KEYS and bound to the
-- person, provider and address of their row: moved to another row, or with another address, they do not open.
create table provider_keys (
  user_id uuid not null references users on delete cascade,
  provider text not null check (provider in ('anthropic', 'openai-compatible')),
  base_url text not null,
  hint text not null,
  key_version smallint not null,
  sealed bytea not null,
  created_at timestamptz(3) not null default guild_now(),
  primary key (user_id, provider)
);
