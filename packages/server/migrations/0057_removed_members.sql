-- Who leaves a workspace, or is put out of it, loses the keys of it for good.
alter table api_keys drop constraint api_keys_revoked_because_check;
alter table api_keys add constraint api_keys_revoked_because_check
  check (revoked_because in ('revoked', 'leak_reported', 'member_removed'));
