-- Whether this very transaction has used up a one_time grant of one of these scopes, for what it starts. One that was
-- used up to a minute before counted too: what a session grant allowed right after it was then taken for allowed by it,
-- and went on when the session grant had ended.
create or replace function is_allowed_once(key bigint, scopes_needed text[]) returns boolean language plpgsql stable as $$
begin
  return not exists (select from api_keys k where k.id = key and k.scopes && (scopes_needed || '*'::text))
    and exists (
      select from grants g
      where g.key_id = key and g.scope = any(scopes_needed) and g.mode = 'one_time'
        and g.consumed_at > guild_now() - interval '1 minute' and g.xmin = pg_current_xact_id_if_assigned()::xid);
end $$;
