-- Who is invited to a workspace and has not answered. An answer removes the row; one whose time is over reads as absent.
create table invitations (
  id uuid primary key default gen_random_uuid(),
  workspace_id uuid not null references workspaces on delete cascade,
  -- Lower case. Whether anybody has it is not known here.
  email text not null,
  role text not null check (role in ('owner', 'member')),
  invited_by uuid not null references users on delete cascade,
  created_at timestamptz(3) not null default guild_now(),
  expires_at timestamptz(3) not null,
  unique (workspace_id, email)
);
create index invitations_by_email on invitations (email);
create index invitations_by_inviter on invitations (invited_by);
create index invitations_by_expiry on invitations (expires_at);

-- What a person tells sessions apart by. The last use is written as often as a session is renewed.
alter table sessions
  add column last_used_at timestamptz(3) not null default guild_now(),
  add column client_ua text,
  add column client_ip text;
create index sessions_by_user on sessions (user_id);

-- A grant of an app ends for good some time after it was given; one from before counts from now.
alter table oauth_records add column created_at timestamptz(3) not null default guild_now();
