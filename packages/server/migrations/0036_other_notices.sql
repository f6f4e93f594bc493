-- What a thread has not been told yet of what it had to do with, besides runs of workflows. It is noted in the transaction
-- of the change and deleted in the one that tells it, so no death in between leaves a thread without word.
create table thread_notices_due (
  thread_row_id bigint not null references threads on delete cascade,
  source text not null check (source in ('approval', 'execution', 'handover')),
  ref text not null,
  payload json not null,
  due_at timestamptz(3) not null default guild_now(),
  primary key (thread_row_id, source, ref)
);
create index thread_notices_due_by_time on thread_notices_due (due_at);

-- A run goes on after a question, or ends while a skill that it waited for works on. The end of a run clears what it
-- waited for, so it is read from what the row was.
create function thread_run_notice_due() returns trigger language plpgsql as $$
begin
  if old.wait_kind = 'approval' then
    insert into thread_notices_due (thread_row_id, source, ref, payload)
    select new.thread_row_id, 'approval', a.id, json_build_object('approvalId', a.id, 'kind', a.kind, 'status',
      case when a.status in ('granted', 'denied') then a.status else 'expired' end)
    from approval_requests a where a.id = old.wait_ref
    on conflict do nothing;
  else
    insert into thread_notices_due (thread_row_id, source, ref, payload)
    values (new.thread_row_id, 'execution', old.wait_ref, json_build_object('executionId', old.wait_ref))
    on conflict do nothing;
  end if;
  return null;
end $$;
create trigger thread_runs_notice_due after update of status on thread_runs for each row
  when (old.status = 'waiting' and old.wait_ref is not null and (
    (new.status = 'working' and old.wait_kind = 'approval') or
    (new.status = 'failed' and old.wait_kind = 'execution')))
  execute function thread_run_notice_due();

-- Somebody has picked up what a conversation is the trace of.
create function handover_notice_due() returns trigger language plpgsql as $$
begin
  insert into thread_notices_due (thread_row_id, source, ref, payload)
  select h.id, 'handover', new.id,
    json_build_object('handoverId', new.id, 'traceId', new.trace_id, 'agentSlug', new.claimed_by_slug)
  from traces t join threads h on h.id = t.thread_row_id where t.id = new.trace_id
  on conflict do nothing;
  return null;
end $$;
create trigger handovers_notice_due after update of status on handovers for each row
  when (new.status = 'claimed' and old.status = 'pending')
  execute function handover_notice_due();
