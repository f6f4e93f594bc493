-- Apps that nobody here registered: each is known by the address of a document that describes it, and a row is written
-- when a person decides about it, with what they were shown.
alter table oauth_clients alter column user_id drop not null;
alter table oauth_clients
  add column kind text not null default 'owned' check (kind in ('owned', 'document', 'registered')),
  add column decided_at timestamptz(3) not null default guild_now(),
  add constraint oauth_clients_owner check ((kind = 'owned') = (user_id is not null));
create index oauth_clients_by_decision on oauth_clients (decided_at) where kind = 'document';

-- Of a grant only: when a token of it was last shown, to the minute.
alter table oauth_records add column last_used_at timestamptz(3);
