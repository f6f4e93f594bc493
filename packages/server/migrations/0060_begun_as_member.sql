-- What somebody began as a member has ended for good with that membership: it does not go on when they are let in again,
-- and neither do their keys and apps. `begun` is when it was written down that they want it. The one without `begun` asks
-- for what begins now, and of the version before, for everything.
create function may_act(
  workspace uuid, person uuid, key bigint, app_grant bigint, scopes_needed text[], begun timestamptz)
returns boolean language plpgsql stable as $$
begin
  return exists (
      select from workspace_members m
      where m.workspace_id = workspace and m.user_id = person and m.joined_at <= begun)
    and may_act(workspace, person, key, app_grant, scopes_needed);
end $$;
