import { Guildhall } from '@guildhall/sdk'
import { commonOptions } from '../client.ts'
import type { Handler } from '../command.ts'
import type { Context } from '../context.ts'
import { forgetSession } from '../credentials/kept-session.ts'
import { openStore } from '../credentials/store.ts'
import { exit } from '../exit-codes.ts'
import { Failure } from '../failure.ts'
import { say } from '../output/safe-text.ts'
import { changeConfig, type Profile } from '../profile.ts'

/** Forgets stored keys, and ends them: a key that nobody holds any more is for nobody. */
export const logout: Handler = async (context) => {
  const { input, settings, out } = context
  const { profiles, people } = settings.config
  const names = input.has('all')
    ? [...new Set([...Object.keys(profiles), ...Object.keys(people)])]
    : [settings.profileName]
  const removed: string[] = []
  const revoked: string[] = []
  for (const name of names) {
    const profile = Object.hasOwn(profiles, name) ? profiles[name] : undefined
    const forgot = await forgetPerson(context, name)
    if (!profile && !forgot) continue
    removed.push(name)
    if (profile && (await forgetKey(context, name, profile))) revoked.push(name)
  }
  if (removed.length === 0) {
    throw new Failure({
      exitCode: exit.notSignedIn,
      message: `No key is stored for profile "${settings.profileName}".`,
      next: ['guild auth status --all'],
    })
  }
  out.document({ removed, revoked }, () => [])
  return exit.done
}

/** Whether the key has ended on the server too. */
async function forgetKey(context: Context, name: string, profile: Profile): Promise<boolean> {
  const { settings, out, input } = context
  const store = openStore(profile.storage, settings.environment, () => {})
  const apiKey = await store.read(name)
  const ended = apiKey !== undefined && !input.has('keep-key') && (await endKey(context, profile, apiKey))
  await store.remove(name)
  changeConfig(settings.environment, (config) => {
    delete config.profiles[name]
  })
  out.done(
    say`Removed the key of profile ${name} from the ${profile.storage}${ended ? ', and ended it' : ''}.`,
  )
  if (!ended)
    out.talk(say`  It still exists: revoke it in the app, or guild keys revoke ${profile.keyId ?? 'ID'}`)
  return ended
}

/** A server that is away must not keep anybody signed in here. */
async function endKey(context: Context, { baseUrl }: Profile, apiKey: string): Promise<boolean> {
  const client = new Guildhall({ ...commonOptions(context, baseUrl), apiKey, maxRetries: 0, timeoutMs: 5000 })
  try {
    await client.keys.revokeSelf({}, { signal: context.signal })
    return true
  } catch {
    context.signal.throwIfAborted()
    return false
  }
}

async function forgetPerson(context: Context, name: string): Promise<boolean> {
  const { settings, out } = context
  const kept = settings.config.people[name]
  if (!kept) return false
  const authToken = await forgetSession(settings, name)
  if (authToken) {
    const person = new Guildhall({ ...commonOptions(context, kept.baseUrl), authToken, maxRetries: 0 })
    await person.session.signOut({ signal: context.signal }).catch(() => {})
  }
  out.done(say`Ended the session that was kept for profile ${name}.`)
  return true
}
