-- Through which OAuth grant something was started, as api_key_id says through which key: it stops with either.
alter table executions add column oauth_grant_id bigint;
alter table workflow_runs add column oauth_grant_id bigint;
-- Allowed by a one_time grant, which its start used up: from then on no scope is asked for it, only who it acts for.
alter table executions add column allowed_once boolean not null default false;
alter table workflow_runs add column allowed_once boolean not null default false;

-- Whether who started something may still act: a member of the workspace, through a key that is good and holds one of
-- the scopes (null: none is needed), or through a grant of an app that has not ended. The one place that says so. In
-- plpgsql, which keeps its plans: this is asked before every step, and planning it each time would cost more than it.
create function may_act(workspace uuid, person uuid, key bigint, app_grant bigint, scopes_needed text[])
returns boolean language plpgsql stable as $$
begin
  return exists (select from workspace_members m where m.workspace_id = workspace and m.user_id = person)
    and (key is null or exists (
      select from api_keys k
      where k.id = key and k.workspace_id = workspace and k.user_id = person
        and k.revoked_at is null and k.claim_before is null and k.activated_at is not null
        and (k.expires_at is null or k.expires_at > guild_now())
        and (scopes_needed is null or k.scopes && (scopes_needed || '*'::text) or exists (
          select from grants g
          where g.key_id = k.id and g.scope = any(scopes_needed) and g.mode = 'session'
            and g.consumed_at is null and g.expires_at > guild_now()))))
    and (app_grant is null or exists (
      select from oauth_records o
      where o.id = app_grant and o.model = 'Grant' and o.workspace_id = workspace and o.user_id = person
        and o.expires_at > guild_now()));
end $$;

-- Whether a key that does not hold any of these scopes has just used a one_time grant of one, for what it starts now.
create function is_allowed_once(key bigint, scopes_needed text[]) returns boolean language plpgsql stable as $$
begin
  return not exists (select from api_keys k where k.id = key and k.scopes && (scopes_needed || '*'::text))
    and exists (
      select from grants g
      where g.key_id = key and g.scope = any(scopes_needed) and g.mode = 'one_time'
        and g.consumed_at > guild_now() - interval '1 minute');
end $$;

create index workflow_runs_open_of_key on workflow_runs (api_key_id)
  where api_key_id is not null and status in ('running', 'suspended');

create trigger activity_is_not_emptied before truncate on activity
  for each statement execute function refuse_change();

-- What an operator or the service itself does is told as such.
alter table activity drop constraint activity_actor_kind_check;
alter table activity add constraint activity_actor_kind_check
  check (actor_kind in ('session', 'key', 'oauth', 'anonymous', 'operator'));
