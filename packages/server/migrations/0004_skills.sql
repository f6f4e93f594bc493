-- A bundle is a set of files by content: the same files are the same bundle, whoever has them. Artifacts, versions of
-- skills and the catalog refer to it; a restore or an install from the catalog copies nothing.
create table bundles (
  checksum text primary key check (checksum ~ '^[0-9a-f]{64}$'),
  files_count integer not null check (files_count > 0),
  size_bytes bigint not null check (size_bytes >= 0),
  touched_at timestamptz(3) not null default guild_now()
);
create index bundles_by_touch on bundles (touched_at);

create table bundle_files (
  bundle_checksum text not null references bundles on delete cascade,
  path text not null,
  size_bytes bigint not null,
  checksum text not null references blobs,
  primary key (bundle_checksum, path)
);
create index bundle_files_by_blob on bundle_files (checksum);

insert into bundles (checksum, files_count, size_bytes)
  select content_checksum, files_count, size_bytes from artifacts on conflict do nothing;
insert into bundle_files (bundle_checksum, path, size_bytes, checksum)
  select a.content_checksum, f.path, f.size_bytes, f.checksum
  from artifacts a join artifact_files f on f.artifact_id = a.id on conflict do nothing;
drop table artifact_files;
alter table artifacts add foreign key (content_checksum) references bundles;
create index artifacts_by_bundle on artifacts (content_checksum);

-- At most one execution works in a workspace. A start locks the row for itself; installs, uninstalls and restores share
-- it while they become visible, so none of them happens under a running skill.
create table workspace_slots (
  workspace_id uuid primary key references workspaces on delete cascade,
  execution_id bigint
);

-- The highest version is the live one, so exactly one is active by construction. An uninstalled skill keeps its row:
-- numbers go on when it is installed again, and what ran earlier stays explained.
create table skills (
  id bigint generated always as identity primary key,
  workspace_id uuid not null references workspaces on delete cascade,
  slug text not null,
  latest_version integer not null check (latest_version > 0),
  uninstalled_at timestamptz(3),
  unique (workspace_id, slug)
);
create index skills_installed on skills (workspace_id, slug) where uninstalled_at is null;

create table skill_versions (
  id bigint generated always as identity primary key,
  workspace_id uuid not null references workspaces on delete cascade,
  skill_id bigint not null references skills on delete cascade,
  version_number integer not null check (version_number > 0),
  bundle_checksum text not null references bundles,
  name text not null,
  description text not null,
  category text not null,
  prompt text not null,
  allowed_tools text[] not null,
  scopes text[] not null,
  repository text,
  commit_hash text,
  warnings jsonb not null,
  note text,
  created_by text not null,
  created_at timestamptz(3) not null default guild_now(),
  unique (skill_id, version_number)
);
create index skill_versions_by_bundle on skill_versions (bundle_checksum);

-- The catalog, as of the last sync of each of its sources. One row of catalog_state says which state readers see.
create table catalog_skills (
  slug text primary key,
  source text not null,
  repository text not null,
  commit_hash text not null,
  bundle_checksum text not null references bundles,
  name text not null,
  description text not null,
  category text not null,
  prompt text not null,
  author text not null,
  version text not null,
  allowed_tools text[] not null,
  scopes text[] not null,
  search tsvector not null generated always as (
    setweight(to_tsvector('english', replace(slug, '-', ' ') || ' ' || name), 'A') ||
    setweight(to_tsvector('english', description || ' ' || category), 'B')) stored
);
create index catalog_skills_by_category on catalog_skills (category, slug);
create index catalog_skills_by_source on catalog_skills (source);
create index catalog_skills_by_bundle on catalog_skills (bundle_checksum);
create index catalog_skills_search on catalog_skills using gin (search);

create table catalog_categories (
  id text primary key,
  count integer not null check (count > 0)
);

create table catalog_state (
  one boolean primary key default true check (one),
  revision bigint not null
);
insert into catalog_state (revision) values (0);
