import { type Asked, Guildhall, type ResponseFacts } from '@guildhall/sdk'
import type { Context } from './context.ts'
import { openStore } from './credentials/store.ts'
import { exit } from './exit-codes.ts'
import { Failure } from './failure.ts'
import { left } from './output/duration.ts'
import { dim, joined, say } from './output/safe-text.ts'
import type { Settings } from './settings.ts'
import { version } from './version.ts'

/** How this program names itself. */
export const userAgent = `guild-cli/${version}`

const opened = new WeakMap<Context, Promise<Guildhall>>()

/** The client of the agent's key; one for each command. */
export function clientOf(context: Context): Promise<Guildhall> {
  const known = opened.get(context) ?? openClient(context)
  opened.set(context, known)
  return known
}

export interface StoredKey {
  apiKey: string
  baseUrl: string
}

async function openClient(context: Context): Promise<Guildhall> {
  const { apiKey, baseUrl } = await keyOf(context)
  context.out.hide(apiKey)
  return new Guildhall({ ...commonOptions(context, baseUrl), apiKey, ...workspaceOf(context) })
}

/** The environment's key, else the stored one, which goes to the address it was paired at and to no other. */
export async function keyOf({ settings, out }: Context): Promise<StoredKey> {
  const { apiKey, ownBaseUrl, baseUrl, profile, profileName } = settings
  if (apiKey) {
    if (!ownBaseUrl) {
      throw notSignedIn(
        'GUILD_API_KEY is set, but no address.',
        'export GUILD_BASE_URL=https://guild.example',
      )
    }
    return { apiKey, baseUrl: ownBaseUrl }
  }
  if (!profile) {
    const which = profileName === 'default' ? '' : ` --profile ${profileName}`
    throw notSignedIn('You are not signed in.', `guild login ${baseUrl ?? 'https://guild.example'}${which}`)
  }
  if (baseUrl && baseUrl !== profile.baseUrl) {
    throw notSignedIn(
      `The key of profile "${profileName}" belongs to ${profile.baseUrl} and is not sent to ${baseUrl}.`,
      `guild login ${baseUrl} --profile ${new URL(baseUrl).hostname}`,
    )
  }
  const store = openStore(profile.storage, settings.environment, (path) =>
    out.warn(say`${path} could be read by others; it was narrowed to 0600.`),
  )
  const stored = await store.read(profileName)
  if (!stored) {
    throw notSignedIn(
      `The key of profile "${profileName}" is gone from the ${profile.storage}.`,
      `guild login ${profile.baseUrl} --profile ${profileName}`,
    )
  }
  return { apiKey: stored, baseUrl: profile.baseUrl }
}

/** For completion: no talk, no questions. */
export async function quietClient(settings: Settings): Promise<Guildhall> {
  const { profile, profileName, environment } = settings
  const baseUrl = settings.apiKey ? settings.ownBaseUrl : settings.baseUrl
  const apiKey =
    settings.apiKey ??
    (profile && (await openStore(profile.storage, environment, () => {}).read(profileName)))
  if (!baseUrl || !apiKey || (!settings.apiKey && baseUrl !== profile?.baseUrl)) throw notSignedIn('No key.')
  return new Guildhall({ baseUrl, apiKey })
}

export function commonOptions({ settings, out }: Context, baseUrl: string) {
  const reason = settings.askReason
  return {
    baseUrl,
    userAgent,
    ...(settings.verbose && {
      onResponse: (facts: ResponseFacts) =>
        out.talk(
          dim(
            `${facts.method} ${facts.path} ${facts.status ?? 'no answer'} ${Math.round(facts.ms)} ms ${facts.requestId ?? ''}`,
          ),
        ),
    }),
    permissions:
      reason === undefined
        ? { onMissing: 'throw' as const }
        : {
            onMissing: 'ask' as const,
            reason: reason || 'The command was run with --ask',
            mode: 'session' as const,
            waitMs: settings.waitMs,
            onAsk: (asked: Asked) =>
              out.progress(
                say`Asked a person for ${joined(asked.scopes, ', ')}${asked.url ? say` at ${asked.url}` : ''}. Waiting, ${left(settings.waitMs)} left`,
              ),
          },
  }
}

/** A key belongs to one workspace: naming another is a mistake to be told before anything is sent. */
function workspaceOf({ settings }: Context): { workspaceId?: string } {
  const { workspace, profile } = settings
  if (!workspace) return {}
  if (/^[0-9a-f]{8}-[0-9a-f-]{27}$/.test(workspace)) return { workspaceId: workspace }
  if (profile?.workspace?.name === workspace) return { workspaceId: profile.workspace.id }
  throw notSignedIn(`This key does not belong to a workspace named "${workspace}".`, 'guild auth status')
}

export function notSignedIn(message: string, ...next: string[]): Failure {
  return new Failure({ exitCode: exit.notSignedIn, message, next })
}
