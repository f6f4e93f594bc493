-- Where the token of a session counts: in a header, or in the cookie of the app's own pages.

alter table sessions
  add column kind text not null default 'token' check (kind in ('token', 'browser'));

-- What waits for a person is counted each time a page of the app asks who is signed in.
create index approval_requests_pending_by_user on approval_requests (user_id) where status = 'pending';
create index approval_requests_pending_by_workspace on approval_requests (workspace_id) where status = 'pending';
