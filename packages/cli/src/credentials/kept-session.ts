import { exit } from '../exit-codes.ts'
import { Failure } from '../failure.ts'
import { changeConfig } from '../profile.ts'
import type { Settings } from '../settings.ts'
import { openStore } from './store.ts'

/** A profile's name has no such sign, so a session never takes the place of a key. */
const entryOf = (profile: string) => `${profile}#person`

export interface KeptSession {
  token: string
  baseUrl: string
  expiresAt: string
}

/** The session that the person chose to keep, where it is for this address and still lives. */
export async function readKeptSession(settings: Settings, baseUrl: string): Promise<string | undefined> {
  const kept = settings.config.people[settings.profileName]
  if (!kept || kept.baseUrl !== baseUrl || Date.parse(kept.expiresAt) <= Date.now()) return undefined
  return keyring(settings).read(entryOf(settings.profileName))
}

/** In the keyring and nowhere else: a file would be open to whatever this user runs. */
export async function keepSession(
  settings: Settings,
  { token, baseUrl, expiresAt }: KeptSession,
): Promise<void> {
  await keyring(settings).write(entryOf(settings.profileName), token)
  changeConfig(settings.environment, ({ people }) => {
    people[settings.profileName] = { baseUrl, expiresAt }
  })
}

/** Gives back what was kept, so that it can be ended on the server too. */
export async function forgetSession(settings: Settings, profile: string): Promise<string | undefined> {
  if (!settings.config.people[profile]) return undefined
  const store = keyring(settings)
  const token = await store.read(entryOf(profile))
  await store.remove(entryOf(profile))
  changeConfig(settings.environment, ({ people }) => {
    delete people[profile]
  })
  return token
}

function keyring({ environment }: Settings) {
  return openStore('keyring', environment, () => {})
}

export function noKeyring(): Failure {
  return new Failure({
    exitCode: exit.notSignedIn,
    message:
      "A person's session is kept in the keyring and nowhere else, and this computer's does not answer.",
    next: [
      'unlock the keyring and try again',
      'leave --keep out: each command for people signs in by itself',
    ],
  })
}
