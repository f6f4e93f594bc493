-- Content that was swept and is wanted again gets another name in the store: a delete that is still on its way removes what
-- nobody means any more. What was stored before this has none but its checksum.
create sequence blob_generations;
alter table blobs add column generation bigint;

-- Names that nothing refers to any more and that the store may still have.
create table blobs_gone (
  checksum text not null,
  generation bigint,
  gone_at timestamptz(3) not null default guild_statement(),
  unique nulls not distinct (checksum, generation)
);
