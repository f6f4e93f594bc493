import { join } from 'node:path'
import { exit } from '../exit-codes.ts'
import { Failure } from '../failure.ts'
import { configFolder, type Environment } from '../places.ts'
import type { Storage } from '../profile.ts'
import { type Keyring, KeyringAway, openKeyring, probeKeyring } from './keyring.ts'
import { changingPrivate, probeFolder, readPrivate, removePrivate, writePrivate } from './private-files.ts'

/** Where keys are kept, by profile: the OS keyring, or a file of the user's own. */
export interface SecretStore {
  storage: Storage
  read(profile: string): Promise<string | undefined>
  write(profile: string, secret: string): Promise<void>
  remove(profile: string): Promise<void>
}

export type Narrowed = (path: string) => void

export function openStore(storage: Storage, environment: Environment, narrowed: Narrowed): SecretStore {
  return storage === 'file' ? fileStore(environment, narrowed) : keyringStore()
}

/**
 * Proves that a key could be kept, before a person is asked to approve one: an approval whose key is then lost has
 * to be found and taken back by hand.
 */
export async function chooseStore(
  wanted: Storage | 'auto',
  environment: Environment,
  narrowed: Narrowed,
): Promise<SecretStore> {
  if (wanted !== 'file' && (await probeKeyring())) return keyringStore()
  if (wanted === 'keyring') throw keyringFailure()
  probeFolder(configFolder(environment))
  return fileStore(environment, narrowed)
}

function credentialsPath(environment: Environment): string {
  return join(configFolder(environment), 'credentials.json')
}

function fileStore(environment: Environment, narrowed: Narrowed): SecretStore {
  const path = credentialsPath(environment)
  const readAll = (): Record<string, string> => {
    const text = readPrivate(path, narrowed)
    if (text === undefined) return {}
    try {
      return { ...JSON.parse(text).keys }
    } catch (cause) {
      throw new Failure({
        exitCode: exit.notSignedIn,
        message: `${path} is not readable as JSON.`,
        next: [`mv ${path} ${path}.broken && guild login`],
        cause,
      })
    }
  }
  const writeAll = (keys: Record<string, string>) => {
    if (Object.keys(keys).length === 0) removePrivate(path)
    else writePrivate(path, `${JSON.stringify({ version: 1, keys }, null, 2)}\n`)
  }
  return {
    storage: 'file',
    read: async (profile) => readAll()[profile],
    write: async (profile, secret) =>
      changingPrivate(path, () => writeAll({ ...readAll(), [profile]: secret })),
    remove: async (profile) =>
      changingPrivate(path, () => {
        const { [profile]: _, ...others } = readAll()
        writeAll(others)
      }),
  }
}

function keyringStore(): SecretStore {
  const asked = async <T>(work: (keyring: Keyring) => Promise<T>): Promise<T> => {
    try {
      return await work(openKeyring())
    } catch (error) {
      if (error instanceof KeyringAway) throw keyringFailure(error)
      throw error
    }
  }
  return {
    storage: 'keyring',
    read: (profile) => asked((keyring) => keyring.read(profile)),
    write: (profile, secret) => asked((keyring) => keyring.write(profile, secret)),
    remove: (profile) => asked((keyring) => keyring.remove(profile)),
  }
}

function keyringFailure(cause?: Error): Failure {
  return new Failure({
    exitCode: exit.notSignedIn,
    message: "This computer's keyring does not answer.",
    next: ['unlock it and try again', 'guild login --storage file'],
    ...(cause ? { cause } : {}),
  })
}
