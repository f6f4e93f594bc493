-- A run of an agent asks the person it acts for whether it may use a tool.
alter table approval_requests drop constraint approval_requests_kind_check;
alter table approval_requests add constraint approval_requests_kind_check
  check (kind in ('consent', 'permission', 'workflow', 'budget', 'tool'));

-- How a request ended that nobody decided, once somebody was told so: from then on it cannot be decided. A transaction
-- that began before the deadline would otherwise decide what its asker has been told is over.
alter table approval_requests add column closed text check (closed in ('expired', 'withdrawn'));

-- Who may use a tool in a thread without being asked again.
create index approval_requests_tool_grants
  on approval_requests (user_id, (question ->> 'threadId'), (question ->> 'tool'))
  where kind = 'tool' and granted_until is not null;
