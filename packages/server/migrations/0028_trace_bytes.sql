-- What was appended to the traces of a workspace amounts to so many bytes, kept with every change. Counted as text is
-- written, also of what was erased since: the number only has to keep one workspace from filling the disk of all.
alter table traces add column appended_bytes bigint not null default 0;

create table trace_usage (
  workspace_id uuid primary key references workspaces on delete cascade,
  bytes bigint not null
);

create function count_appended_bytes() returns trigger language plpgsql as $$
begin
  if tg_op = 'DELETE' then
    update trace_usage set bytes = bytes - old.appended_bytes where workspace_id = old.workspace_id;
  else
    insert into trace_usage (workspace_id, bytes)
      values (new.workspace_id, new.appended_bytes - old.appended_bytes)
      on conflict (workspace_id) do update set bytes = trace_usage.bytes + excluded.bytes;
  end if;
  return null;
end
$$;
create trigger appended_bytes_counted after update of appended_bytes on traces
  for each row when (new.appended_bytes <> old.appended_bytes) execute function count_appended_bytes();
create trigger appended_bytes_uncounted after delete on traces
  for each row when (old.appended_bytes > 0) execute function count_appended_bytes();

update traces t set appended_bytes = a.bytes
  from (select trace_id, sum(octet_length(payload)) as bytes from trace_turns group by trace_id) a
  where t.id = a.trace_id;
