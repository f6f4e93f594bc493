-- What a person calls a session of theirs, and how long it may live at the most when they want it short. The limit is
-- the table's own, so that no process renews such a session beyond it, whichever version it is of.
alter table sessions
  add column label text,
  add column lifetime_seconds integer,
  add constraint sessions_lifetime
    check (expires_at <= created_at + make_interval(secs => lifetime_seconds));
