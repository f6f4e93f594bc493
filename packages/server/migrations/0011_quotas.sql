-- What the artifacts of a workspace amount to, kept with every change: adding up a large workspace at each upload would
-- take longer and longer, and two uploads at once would both find room.
create table artifact_usage (
  workspace_id uuid primary key references workspaces on delete cascade,
  bytes bigint not null,
  files bigint not null
);

create function count_artifact() returns trigger language plpgsql as $$
begin
  if tg_op = 'INSERT' then
    insert into artifact_usage (workspace_id, bytes, files)
      values (new.workspace_id, new.size_bytes, new.files_count)
      on conflict (workspace_id) do update
        set bytes = artifact_usage.bytes + excluded.bytes, files = artifact_usage.files + excluded.files;
  else
    update artifact_usage set bytes = bytes - old.size_bytes, files = files - old.files_count
      where workspace_id = old.workspace_id;
  end if;
  return null;
end
$$;

-- Before adding up: it keeps others from changing artifacts until this is committed.
create trigger artifacts_counted after insert or delete on artifacts
  for each row execute function count_artifact();

insert into artifact_usage (workspace_id, bytes, files)
  select workspace_id, sum(size_bytes), sum(files_count) from artifacts group by workspace_id;

create index executions_idle_by_workspace on executions (workspace_id) where status = 'idle';
