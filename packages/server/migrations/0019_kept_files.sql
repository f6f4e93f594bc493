-- Whatever a workspace has the store keep counts to its quota, not artifacts alone: what comes with an execution, and the
-- versions of its skills. Else the store is filled by preparing and canceling, or by installing what is deleted then.
create function count_attachments() returns trigger language plpgsql as $$
declare
  gone text := case when tg_op <> 'INSERT' then old.attachments_checksum end;
  added text := case when tg_op <> 'DELETE' then new.attachments_checksum end;
begin
  if gone is not null then
    update artifact_usage u set bytes = u.bytes - b.size_bytes, files = u.files - b.files_count
      from bundles b where b.checksum = gone and u.workspace_id = old.workspace_id;
  end if;
  if added is not null then
    insert into artifact_usage (workspace_id, bytes, files)
      select new.workspace_id, size_bytes, files_count from bundles where checksum = added
      on conflict (workspace_id) do update
        set bytes = artifact_usage.bytes + excluded.bytes, files = artifact_usage.files + excluded.files;
  end if;
  return null;
end
$$;

create trigger attachments_counted after insert on executions
  for each row when (new.attachments_checksum is not null) execute function count_attachments();
create trigger attachments_recounted after update of attachments_checksum on executions
  for each row when (old.attachments_checksum is distinct from new.attachments_checksum)
  execute function count_attachments();
create trigger attachments_uncounted after delete on executions
  for each row when (old.attachments_checksum is not null) execute function count_attachments();

-- Content counts once, however often it is installed or restored. Versions go with their workspace only.
create function count_version() returns trigger language plpgsql as $$
begin
  insert into artifact_usage (workspace_id, bytes, files)
    select new.workspace_id, size_bytes, files_count from bundles
    where checksum = new.bundle_checksum and not exists (
      select from skill_versions v
      where v.bundle_checksum = new.bundle_checksum and v.workspace_id = new.workspace_id and v.id <> new.id)
    on conflict (workspace_id) do update
      set bytes = artifact_usage.bytes + excluded.bytes, files = artifact_usage.files + excluded.files;
  return null;
end
$$;

create trigger versions_counted after insert on skill_versions
  for each row execute function count_version();

insert into artifact_usage (workspace_id, bytes, files)
  select workspace_id, sum(size_bytes), sum(files_count) from (
    select e.workspace_id, b.size_bytes, b.files_count
      from executions e join bundles b on b.checksum = e.attachments_checksum
    union all
    select v.workspace_id, b.size_bytes, b.files_count
      from (select distinct workspace_id, bundle_checksum from skill_versions) v
        join bundles b on b.checksum = v.bundle_checksum) kept
  group by workspace_id
  on conflict (workspace_id) do update
    set bytes = artifact_usage.bytes + excluded.bytes, files = artifact_usage.files + excluded.files;

-- What came with an execution is let go with its log, and soon when it was never started.
create index executions_attachments_kept on executions ((started_at is null), completed_at)
  where attachments_checksum is not null;
