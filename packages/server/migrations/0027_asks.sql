-- An agent asks its person about an act of its own. Nothing is granted by the answer, which is kept as it was given.
alter table approval_requests drop constraint approval_requests_kind_check;
alter table approval_requests add constraint approval_requests_kind_check
  check (kind in ('consent', 'permission', 'workflow', 'budget', 'tool', 'ask'));
alter table approval_requests add column answer json, add column closed_because text;
