-- What the blob store holds, by content. A row is touched before its bytes are written and held while they are
-- removed, so that content which is wanted again at that moment is not lost.
create table blobs (
  checksum text primary key check (checksum ~ '^[0-9a-f]{64}$'),
  size_bytes bigint not null check (size_bytes >= 0),
  touched_at timestamptz(3) not null default guild_now()
);
create index blobs_by_touch on blobs (touched_at);

create table artifacts (
  id text primary key,
  workspace_id uuid not null references workspaces on delete cascade,
  type text not null check (type in ('skill', 'workflow', 'file')),
  slug text not null,
  name text not null,
  description text not null,
  files_count integer not null check (files_count > 0),
  size_bytes bigint not null,
  content_checksum text not null,
  created_by text not null,
  created_at timestamptz(3) not null default guild_now()
);
create index artifacts_by_workspace on artifacts (workspace_id, created_at desc, id desc);
create index artifacts_by_type on artifacts (workspace_id, type, created_at desc, id desc);

create table artifact_files (
  artifact_id text not null references artifacts on delete cascade,
  path text not null,
  size_bytes bigint not null,
  checksum text not null references blobs,
  primary key (artifact_id, path)
);
create index artifact_files_by_blob on artifact_files (checksum);
