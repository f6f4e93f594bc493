-- When something happened is not when its transaction began: that may have waited for another's lock since, and would be
-- told as if it had come first. `guild_now()` is for comparing, since an index can be asked for what it says; these are for
-- what is written. A statement's time is one for all that it writes, so that a row ends exactly its lifetime after it was
-- made; the moment is later by what the statement itself has waited.
create function guild_statement() returns timestamptz language sql stable
  as 'select guild_now() + (statement_timestamp() - now())';
create function guild_moment() returns timestamptz language sql volatile
  as 'select guild_now() + (clock_timestamp() - now())';

do $$
declare
  written record;
begin
  for written in
    select attrelid::regclass as its_table, attname
    from pg_attrdef d join pg_attribute a on a.attrelid = d.adrelid and a.attnum = d.adnum
    where pg_get_expr(d.adbin, d.adrelid) = 'guild_now()'
  loop
    execute format('alter table %s alter column %I set default guild_statement()', written.its_table, written.attname);
  end loop;
  for written in
    select pg_get_functiondef(oid) as definition from pg_proc
    where pronamespace = 'public'::regnamespace and prosrc like '%updated_at = guild_now()%'
  loop
    execute replace(written.definition, 'updated_at = guild_now()', 'updated_at = guild_moment()');
  end loop;
end $$;
