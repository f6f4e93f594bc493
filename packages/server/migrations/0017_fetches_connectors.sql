-- Skills that are being fetched from elsewhere to be installed. Nothing is locked meanwhile, because a registry may take
-- half a minute; a row says so instead, and lapses by itself when its process dies.
create table skill_fetches (
  id bigint generated always as identity primary key,
  workspace_id uuid not null references workspaces on delete cascade,
  slug text not null,
  until timestamptz(3) not null
);
create index skill_fetches_by_skill on skill_fetches (workspace_id, slug);
create index skill_fetches_by_end on skill_fetches (until);

-- What a start said about the connected application it wants to use, as it was sent.
alter table executions add column connector json;
