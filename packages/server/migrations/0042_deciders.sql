-- Where a decision was taken and what proved it, as far as is known. The session may have ended since, and its name with it,
-- so both are kept as they were. `times` counts how often an equal request was made while this one waited.
alter table approval_requests
  add column decided_session bigint,
  add column decided_device text,
  add column decided_passkey text,
  add column times integer not null default 1;

alter table activations
  add column decided_session bigint,
  add column decided_device text,
  add column decided_passkey text;
