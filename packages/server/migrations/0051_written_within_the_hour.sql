-- What a workspace has the store write counts for the hour, also what nothing refers to afterwards: an upload that is
-- refused when its bytes are there, and what is made and deleted. Else the store is filled without keeping anything.
alter table artifact_usage
  add written_bytes bigint not null default 0,
  add written_files bigint not null default 0,
  add written_hour timestamptz(3) not null default '-infinity';
