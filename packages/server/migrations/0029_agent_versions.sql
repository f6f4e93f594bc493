-- What an agent was at each of its versions. Those of an agent that is gone stay for a while, for runs that began with it.
create table agent_versions (
  workspace_id uuid not null references workspaces on delete cascade,
  slug text not null,
  version_number integer not null,
  content json not null,
  -- Null for what the house made.
  created_by uuid,
  note text,
  created_at timestamptz(3) not null default guild_now(),
  -- Set when the agent is deleted.
  ends_at timestamptz(3),
  primary key (workspace_id, slug, version_number)
);
create index agent_versions_ending on agent_versions (ends_at) where ends_at is not null;

alter table agents
  add column max_cost_per_run_milli_ds bigint check (max_cost_per_run_milli_ds > 0),
  -- Whether the agent may ask for what reaches outside of the house.
  add column outside text not null default 'ask' check (outside in ('ask', 'never'));

insert into agent_versions (workspace_id, slug, version_number, content, created_at)
select workspace_id, slug, version_number,
  json_build_object('name', name, 'description', description, 'instructions', instructions, 'model', model, 'tools', tools,
    'skills', skills, 'max_cost_per_run_milli_ds', max_cost_per_run_milli_ds, 'outside', outside),
  updated_at
from agents;

-- A primary agent that was given nothing can do what a workspace is for.
with changed as (
  update agents set tools = '{skills,workflows}', version_number = version_number + 1, updated_at = guild_now()
  where is_primary and tools = '{}'
  returning *
)
insert into agent_versions (workspace_id, slug, version_number, content, note)
select workspace_id, slug, version_number,
  json_build_object('name', name, 'description', description, 'instructions', instructions, 'model', model, 'tools', tools,
    'skills', skills, 'max_cost_per_run_milli_ds', max_cost_per_run_milli_ds, 'outside', outside),
  'Given the tools of a primary agent'
from changed;
