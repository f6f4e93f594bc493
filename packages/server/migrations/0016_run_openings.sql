-- Which opening of a run is the last: every time the engine begins or goes on with a run, whoever carries it takes the
-- next number, and what an earlier opening writes later counts for nothing.
alter table workflow_runs add column opened integer not null default 0;
-- The pause whose questions are in the inbox; 0 when the run has none there.
alter table workflow_runs add column asked integer not null default 0;
-- Waits for people who were not asked, or has ended and still asks.
create index workflow_runs_unsettled on workflow_runs (id)
  where status = 'suspended' and asked <> pauses or status in ('success', 'failed', 'canceled') and asked > 0;

-- Runs that ended with a step waiting for somebody left their questions open.
update approval_requests q set expires_at = guild_now()
from workflow_runs r
where q.kind = 'workflow' and q.status = 'pending' and q.expires_at is null and r.run_id = q.subject
  and r.status in ('success', 'failed', 'canceled');

-- As before, but a run whose row somebody holds is passed over: the next one in the queue need not wait for it.
create or replace function take_queued_run(workspace uuid, places integer) returns text
language plpgsql volatile as $$
declare
  taken text;
begin
  perform pg_advisory_xact_lock(hashtextextended(workspace::text, 8));
  if (select count(*) from workflow_runs where workspace_id = workspace and advancing) >= places then
    return null;
  end if;
  update workflow_runs set queued_at = null, advancing = true, updated_at = guild_now(), version = version + 1
  where queued_at is not null and id = (
    select id from workflow_runs where workspace_id = workspace and queued_at is not null
    order by queued_at, id limit 1 for no key update skip locked
  )
  returning run_id into taken;
  return taken;
end $$;
