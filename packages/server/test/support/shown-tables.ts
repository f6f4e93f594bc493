import type { ChangeKind } from '@guildhall/contract'
import type { Tables } from '#platform/tables.ts'

/** What people look at that is made of a table's rows; nothing where nobody sees them, or only by something else. */
export const shownBy: Readonly<Record<keyof Tables, readonly ChangeKind[]>> = {
  migrations: [],
  users: ['session'],
  user_identities: [],
  workspaces: ['workspaces'],
  workspace_members: ['workspaces'],
  workspace_slots: [],
  invitations: ['members', 'invitations'],
  sessions: ['session'],
  sign_in_codes: [],
  api_keys: ['keys'],
  api_key_secrets: ['keys'],
  key_addresses: [],
  activations: ['approvals'],
  code_misses: [],
  idempotency_keys: [],
  approval_requests: ['approvals'],
  grants: ['keys'],
  passkeys: ['passkeys'],
  passkey_challenges: [],
  passkey_invites: ['passkeys'],
  passkey_recovery_codes: ['passkeys'],
  passkey_resets: ['passkeys'],
  oauth_clients: ['oauthClients'],
  oauth_records: ['oauthGrants'],
  profiles: ['profile'],
  used_addresses: [],
  // It grows with all that is told.
  activity: [],
  blobs: [],
  blobs_gone: [],
  artifact_usage: [],
  artifacts: ['artifacts'],
  bundles: [],
  bundle_files: [],
  executions: ['executions'],
  execution_events: ['executions'],
  traces: ['traces'],
  receipts_due: [],
  receipts: ['receipts'],
  lineages: [],
  trace_producers: ['traces'],
  trace_pieces: [],
  trace_turns: ['traces'],
  trace_usage: [],
  run_usage: [],
  trace_marks: ['traces'],
  handovers: ['handovers'],
  provider_keys: ['providerKeys'],
  credit_accounts: ['billing'],
  ledger: ['billing'],
  reservations: ['billing'],
  skills: ['skills'],
  skill_fetches: [],
  skill_versions: ['skills'],
  catalog_skills: [],
  catalog_categories: [],
  catalog_state: [],
  agents: ['agents'],
  agent_versions: ['agents'],
  workflows: ['workflows'],
  workflow_definitions: [],
  workflow_runs: ['runs'],
  workflow_steps: ['runs'],
  threads: ['threads'],
  thread_events: ['threads'],
  thread_outputs: ['threads'],
  thread_runs: ['threads'],
  thread_subscriptions: [],
  notifications: ['notifications'],
  notifications_due: [],
  thread_notices_due: [],
  push_subscriptions: ['push'],
  notification_settings: ['profile'],
  push_words: [],
  push_messages: [],
}

/** Noted at every use, and told to nobody: who lists it sees it as of then. */
const uses = ['last_used_at', 'last_used_ip', 'used_at', 'expires_at', 'last_activity_at']

/** From now on the names of the tables of which rows were really changed are in `changed_tables`. */
export const noteTables = `
  create table changed_tables (name text primary key);
  create function note_table() returns trigger language plpgsql as $$
  begin
    if tg_op = 'UPDATE' and to_jsonb(old) - array['${uses.join("','")}'] = to_jsonb(new) - array['${uses.join("','")}']
      then return null; end if;
    insert into changed_tables values (tg_argv[0]) on conflict do nothing;
    return null;
  end $$;
  do $$
  declare name text;
  begin
    for name in
      select relname from pg_class
      where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition
        and relname not in ('changed_tables', 'migrations')
    loop
      execute format(
        'create trigger note_table after insert or update or delete on %I for each row execute function note_table(%L)',
        name, name);
    end loop;
  end $$;`
