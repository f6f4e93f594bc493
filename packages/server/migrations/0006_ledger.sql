-- Credits, in thousandths of a Ds. An entry of the ledger names both of its sides, so none can be written that does
-- not sum to zero. A person's account is what the entries have added up to; only they move it.
create table credit_accounts (
  user_id uuid primary key references users,
  available_milli_ds bigint not null default 0 check (available_milli_ds >= 0),
  reserved_milli_ds bigint not null default 0 check (reserved_milli_ds >= 0),
  spent_milli_ds bigint not null default 0 check (spent_milli_ds >= 0)
);

-- What a key has spent and holds, beside its limit.
alter table api_keys
  add column reserved_milli_ds bigint not null default 0 check (reserved_milli_ds >= 0),
  add column spent_milli_ds bigint not null default 0 check (spent_milli_ds >= 0);

create table ledger (
  id bigint generated always as identity,
  user_id uuid not null references credit_accounts,
  kind text not null,
  source text not null,
  target text not null,
  amount_milli_ds bigint not null check (amount_milli_ds > 0),
  workspace_id uuid,
  execution_id text,
  key_id bigint,
  note text,
  at timestamptz(3) not null default guild_now(),
  -- In this order: a person's entries are read together, and ids rise in the order in which they took effect,
  -- because each is drawn while the account is held.
  primary key (user_id, id),
  -- 'issued' is outside of all accounts: where credits come from.
  constraint ledger_kind_names_its_sides check ((kind, source, target) in (
    ('grant', 'issued', 'available'),
    ('reserve', 'available', 'reserved'),
    ('settle', 'reserved', 'spent'),
    ('release', 'reserved', 'available'),
    ('refund', 'spent', 'available'),
    ('adjust', 'issued', 'available'),
    ('adjust', 'available', 'issued')
  ))
);

create function apply_ledger_entry() returns trigger language plpgsql as $$
declare
  available bigint := new.amount_milli_ds * ((new.target = 'available')::int - (new.source = 'available')::int);
  reserved bigint := new.amount_milli_ds * ((new.target = 'reserved')::int - (new.source = 'reserved')::int);
  spent bigint := new.amount_milli_ds * ((new.target = 'spent')::int - (new.source = 'spent')::int);
begin
  update credit_accounts
    set available_milli_ds = available_milli_ds + available,
      reserved_milli_ds = reserved_milli_ds + reserved,
      spent_milli_ds = spent_milli_ds + spent
    where user_id = new.user_id;
  update api_keys
    set reserved_milli_ds = reserved_milli_ds + reserved, spent_milli_ds = spent_milli_ds + spent
    where id = new.key_id;
  return null;
end $$;
create trigger ledger_moves_the_account after insert on ledger
  for each row execute function apply_ledger_entry();

create trigger ledger_is_append_only before update or delete on ledger
  for each row execute function refuse_change();
create trigger ledger_is_not_emptied before truncate on ledger
  for each statement execute function refuse_change();

create function refuse_moving_credits() returns trigger language plpgsql as $$
begin
  raise exception 'credits move by entries of the ledger only';
end $$;
create trigger credit_accounts_start_empty before insert on credit_accounts for each row
  when (new.available_milli_ds <> 0 or new.reserved_milli_ds <> 0 or new.spent_milli_ds <> 0)
  execute function refuse_moving_credits();
-- Depth 0 is a statement of a client; inside apply_ledger_entry it is 1.
create trigger credit_accounts_follow_the_ledger before update or delete on credit_accounts for each row
  when (pg_trigger_depth() = 0) execute function refuse_moving_credits();

-- What an execution may cost at most, set aside when it starts. It is closed once: by the update that sets closed_at.
create table reservations (
  execution_id text primary key,
  user_id uuid not null references credit_accounts,
  workspace_id uuid not null,
  key_id bigint,
  amount_milli_ds bigint not null check (amount_milli_ds >= 0),
  limited_by text not null check (limited_by in ('max_cost', 'balance', 'key_limit')),
  charged_milli_ds bigint check (charged_milli_ds between 0 and amount_milli_ds),
  created_at timestamptz(3) not null default guild_now(),
  closed_at timestamptz(3),
  check ((charged_milli_ds is null) = (closed_at is null))
);

insert into credit_accounts (user_id) select id from users;
