import { AuthenticationError, Guildhall, NotActivatedError } from '@guildhall/sdk'
import { commonOptions, keyOf } from '../client.ts'
import type { Handler } from '../command.ts'
import type { Context } from '../context.ts'
import { openStore } from '../credentials/store.ts'
import { exit } from '../exit-codes.ts'
import { Failure, usage } from '../failure.ts'
import type { Column } from '../output/columns.ts'
import { money } from '../output/money.ts'
import { bold, joined, type Shown, say } from '../output/safe-text.ts'
import { changeConfig, type Profile } from '../profile.ts'
import type { Self } from './consent.ts'

export const whoami: Handler = async (context) => {
  const client = await context.client()
  const self = await client.permissions.me({ signal: context.signal })
  context.out.document(self, () => described(self))
  return exit.done
}

function described(self: Self): Shown[] {
  const scopes = self.scopes.map(
    ({ scope, mode, expires_at }) =>
      say`${scope} ${expires_at ? `until ${expires_at}` : mode === 'persistent' ? 'always' : mode}`,
  )
  const { spent, limit } = self.budget
  return [
    say`${bold(self.key.label)}   key ${self.key.id} (${self.key.prefix}…)   workspace ${self.workspace.name ?? self.workspace.id}   ${self.mode}`,
    say`scopes   ${scopes.length > 0 ? joined(scopes, ' · ') : 'none'}`,
    say`money    ${money(spent)}${limit === null ? '' : ` of ${money(limit)}`} used by this key`,
    ...(self.running.length > 0 ? [say`running  ${joined(self.running, ' ')}`] : []),
  ]
}

interface ProfileState extends Omit<Profile, 'pairedAt'> {
  profile: string
  current: boolean
  pairedAt: string | null
  state: string
}

export const authStatus: Handler = async (context) => {
  const { settings, out, input } = context
  const { profiles } = settings.config
  const names = input.has('all') || !settings.profile ? Object.keys(profiles) : [settings.profileName]
  const items: ProfileState[] = []
  for (const name of names) {
    const profile = profiles[name]
    if (!profile) continue
    const current = name === settings.profileName
    items.push({ profile: name, current, ...profile, state: await stateOf(context, name, profile) })
  }
  if (settings.apiKey) out.talk(say`GUILD_API_KEY is set and wins over every stored key.`)
  out.list({ items }, statusColumns, say`No key is stored. Next: guild login https://guild.example`)
  return items.length > 0 || settings.apiKey ? exit.done : exit.notSignedIn
}

const statusColumns: readonly Column<ProfileState>[] = [
  {
    head: 'PROFILE',
    cell: ({ profile, current }, forPeople) => (forPeople && current ? `* ${profile}` : profile),
  },
  { head: 'ADDRESS', cell: ({ baseUrl }) => baseUrl, wide: true },
  { head: 'WORKSPACE', cell: ({ workspace }) => workspace?.name ?? workspace?.id },
  { head: 'KEY', cell: ({ keyPrefix }) => (keyPrefix ? `${keyPrefix}…` : undefined) },
  { head: 'KEPT IN', cell: ({ storage }) => storage },
  { head: 'STATE', cell: ({ state }) => state },
]

async function stateOf(context: Context, name: string, profile: Profile): Promise<string> {
  try {
    const apiKey = await openStore(profile.storage, context.settings.environment, () => {}).read(name)
    if (!apiKey) return `gone: guild login ${profile.baseUrl} --profile ${name}`
    const client = new Guildhall({ ...commonOptions(context, profile.baseUrl), apiKey, maxRetries: 0 })
    await client.permissions.me({ signal: context.signal })
    return 'active'
  } catch (error) {
    if (context.signal.aborted) throw context.signal.reason
    if (error instanceof Failure) return error.message
    if (AuthenticationError.is(error)) return `revoked: guild login ${profile.baseUrl} --profile ${name}`
    if (NotActivatedError.is(error)) return 'waits for consent: guild perms declare SCOPE… --wait'
    return 'not reached: guild doctor'
  }
}

/** The one command that prints a secret; on a screen only when told so. */
export const authToken: Handler = async (context) => {
  const { out, input } = context
  if (out.stdoutIsTerminal && !input.has('show')) {
    throw usage(
      'A key on a screen can be read by others.',
      'guild auth token --show',
      'guild auth token | pbcopy',
    )
  }
  const { apiKey } = await keyOf(context)
  out.document({ token: apiKey }, apiKey)
  return exit.done
}

export const authSwitch: Handler = async ({ input, settings, out }) => {
  const name = input.argument('PROFILE')
  const { profiles } = settings.config
  const profile = Object.hasOwn(profiles, name) ? profiles[name] : undefined
  if (!profile) {
    throw new Failure({
      exitCode: exit.notFound,
      message: `There is no profile "${name}".`,
      next: ['guild auth status --all', `guild login https://guild.example --profile ${name}`],
    })
  }
  changeConfig(settings.environment, (config) => {
    config.current = name
  })
  out.document({ profile: name }, () => [])
  out.done(say`Now using ${name} (${profile.workspace?.name ?? profile.baseUrl}).`)
  return exit.done
}
