-- What was set aside says for what: an execution, which settles its own, or a step of a workflow that asks an agent.
-- They were told apart by the colons in a step's name.
alter table reservations add column kind text;
update reservations set kind = case when execution_id like '%:%' then 'step' else 'execution' end;
alter table reservations
  alter column kind set not null,
  add constraint reservations_kind check (kind in ('execution', 'step'));

-- The version before says no kind and goes by the names; until it is gone a step's must have a colon and no other may.
create function name_reservation_kind() returns trigger language plpgsql as $$
begin
  new.kind := case when new.execution_id like '%:%' then 'step' else 'execution' end;
  return new;
end $$;
create trigger reservations_kind before insert on reservations
  for each row when (new.kind is null) execute function name_reservation_kind();
