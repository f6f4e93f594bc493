import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { type ExitCode, exit } from '../exit-codes.ts'

export interface KeyringRequest {
  readonly verb: 'read' | 'write' | 'remove' | 'probe'
  readonly profile: string
  readonly secret?: string
}

const service = 'guild'

/**
 * What guild starts to ask the keyring: one request and its answer, by a channel that only guild opens. Typed as a command
 * it prints nothing: no command shows a person's session, to nobody.
 */
export async function answerOfKeyring(): Promise<ExitCode> {
  if (!process.send) return exit.usage
  const [{ verb, profile, secret = '' }] = (await once(process, 'message')) as [KeyringRequest]
  try {
    const { AsyncEntry } = await import('@napi-rs/keyring')
    // Without this the library falls back to the kernel's keys, which are forgotten at the next start.
    const entry = (name: string) => new AsyncEntry(service, name, { linux: { store: 'secret-service' } })
    const probe = async () => {
      const value = randomUUID()
      const one = entry(`probe-${value}`)
      await one.setPassword(value)
      const found = await one.getPassword()
      await one.deletePassword()
      return found === value ? 'kept' : undefined
    }
    const verbs = {
      read: () => entry(profile).getPassword(),
      write: async () => void (await entry(profile).setPassword(secret)),
      remove: async () => void (await entry(profile).deletePassword()),
      probe,
    }
    const value = (await verbs[verb]()) ?? undefined
    await new Promise((resolve) => process.send?.({ value }, resolve))
    return exit.done
  } catch {
    return exit.failed
  }
}
