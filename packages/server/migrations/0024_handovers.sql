-- Turns that a person does not want to leave with a trace, whoever exports it.
create table trace_marks (
  trace_id text not null references traces on delete cascade,
  seq bigint not null,
  marked_by uuid not null,
  reason text,
  at timestamptz(3) not null default guild_now(),
  primary key (trace_id, seq)
);

-- Work that one agent gives to another by a short code. Whoever's UPDATE takes it from pending has it.
create table handovers (
  id text primary key,
  trace_id text not null references traces on delete cascade,
  workspace_id uuid not null references workspaces on delete cascade,
  code_hash bytea not null unique,
  -- workspace: any credential of the same workspace. person: also one of the same person elsewhere, who gets a copy.
  reach text not null check (reach in ('workspace', 'person')),
  note text,
  to_slug text,
  created_by_user uuid not null,
  created_by_key bigint,
  created_by_slug text,
  status text not null default 'pending' check (status in ('pending', 'claimed', 'revoked')),
  claimed_by_user uuid,
  claimed_by_key bigint,
  claimed_by_slug text,
  claimed_at timestamptz(3),
  copy_trace_id text,
  created_at timestamptz(3) not null default guild_now(),
  expires_at timestamptz(3) not null,
  check ((status = 'claimed') = (claimed_at is not null))
);
create index handovers_by_trace on handovers (trace_id, created_at desc, id desc);
create index handovers_by_workspace on handovers (workspace_id);
create index handovers_by_end on handovers (expires_at);
