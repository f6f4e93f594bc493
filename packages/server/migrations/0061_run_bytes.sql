-- What the runs of a workspace take with their steps, as it is stored, and something for each row and its places in
-- indexes. A run is counted when it is launched, and anew whenever it stops advancing: until it goes on nothing of it grows.
alter table workflow_runs add column stored_bytes bigint not null default 0;

-- Parts of the sum, many to a workspace: whoever ends a run adds one and waits for nobody, also who ends runs of many
-- workspaces in one statement. They refer to nothing, because to look at the workspace's row is to wait for it.
create table run_usage (
  workspace_id uuid not null,
  bytes bigint not null
);
create index run_usage_by_workspace on run_usage (workspace_id);

create function stored_bytes_of_run(bigint) returns bigint language sql stable as $$
  select 1000 + pg_column_size(inputs) + coalesce(pg_column_size(reuse), 0) + coalesce(pg_column_size(result), 0)
    + coalesce(pg_column_size(error), 0) + coalesce(pg_column_size(resume_data), 0)
    + (select coalesce(sum(200 + pg_column_size(record)), 0) from workflow_steps s where s.run_id = r.run_id)
  from workflow_runs r where id = $1
$$;

create function count_launched_run() returns trigger language plpgsql as $$
begin
  new.stored_bytes := 1000 + pg_column_size(new.inputs) + coalesce(pg_column_size(new.reuse), 0);
  return new;
end $$;
create trigger workflow_runs_counted before insert on workflow_runs for each row
  execute function count_launched_run();

create function count_run() returns trigger language plpgsql as $$
begin
  update workflow_runs set stored_bytes = stored_bytes_of_run(id) where id = new.id;
  return null;
end $$;
-- At the end of the transaction: who cancels a run writes its steps after it.
create constraint trigger workflow_runs_counted_again after update of status, advancing on workflow_runs
  deferrable initially deferred for each row
  when (old.advancing and not new.advancing
    or new.status in ('success', 'failed', 'canceled') and old.status not in ('success', 'failed', 'canceled'))
  execute function count_run();

create function add_run_usage() returns trigger language plpgsql as $$
begin
  if tg_op = 'DELETE' then
    insert into run_usage select old.workspace_id, -old.stored_bytes
      where exists (select from workspaces where id = old.workspace_id);
  elsif tg_op = 'INSERT' then
    insert into run_usage values (new.workspace_id, new.stored_bytes);
  else
    insert into run_usage values (new.workspace_id, new.stored_bytes - old.stored_bytes);
  end if;
  return null;
end $$;
create trigger workflow_runs_usage after insert or delete on workflow_runs for each row
  execute function add_run_usage();
create trigger workflow_runs_usage_changed after update of stored_bytes on workflow_runs for each row
  when (new.stored_bytes <> old.stored_bytes) execute function add_run_usage();

-- What goes with its workspace adds nothing to what is forgotten here, whichever comes first.
create function forget_run_usage() returns trigger language plpgsql as $$
begin
  delete from run_usage where workspace_id = old.id;
  return null;
end $$;
create trigger workspaces_run_usage after delete on workspaces for each row execute function forget_run_usage();

-- The sum, made one part of many once there are some. Whoever asks for a launch holds it until that is counted.
create function run_bytes(workspace uuid) returns bigint language plpgsql volatile as $$
declare
  parts bigint;
  total bigint;
begin
  perform pg_advisory_xact_lock(hashtextextended(workspace::text, 61));
  select count(*), coalesce(sum(bytes), 0) into parts, total from run_usage where workspace_id = workspace;
  if parts > 20 then
    with gone as (delete from run_usage where workspace_id = workspace returning bytes)
      insert into run_usage select workspace, sum(bytes) from gone returning bytes into total;
  end if;
  return total;
end $$;

update workflow_runs set stored_bytes = stored_bytes_of_run(id);
