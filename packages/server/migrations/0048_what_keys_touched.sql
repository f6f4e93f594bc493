-- What a key did can be listed, also after it was revoked: newest first, by an index for each kind of thing.
alter table artifacts add column api_key_id bigint;
create index artifacts_of_key on artifacts (coalesce(api_key_id, output_of_key), created_at desc)
  where coalesce(api_key_id, output_of_key) is not null;
create index executions_of_key on executions (api_key_id, created_at desc) where api_key_id is not null;
create index workflow_runs_of_key on workflow_runs (api_key_id, launched_at desc) where api_key_id is not null;
create index thread_runs_of_key on thread_runs (credential_id, created_at desc) where credential_kind = 'key';
create index trace_turns_of_key on trace_turns (api_key_id, at desc) where api_key_id is not null;
-- Of the log only what tells of things that keys change and have no column of their own for it.
create index activity_of_key on activity (api_key_id, at desc)
  where api_key_id is not null and type in ('agent.created', 'agent.deleted', 'agent.updated', 'artifact.deleted',
    'skill.installed', 'skill.uninstalled', 'skill.updated', 'workflow.installed', 'workflow.uninstalled',
    'workflow.updated');

-- From where a key was used: an IPv4 address, or the /64 of an IPv6 one.
create table key_addresses (
  key_id bigint not null references api_keys on delete cascade,
  network text not null,
  first_at timestamptz(3) not null default guild_now(),
  last_at timestamptz(3) not null default guild_now(),
  primary key (key_id, network)
);
create index key_addresses_by_use on key_addresses (last_at);
