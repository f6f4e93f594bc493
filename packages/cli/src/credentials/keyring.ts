import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { withoutSecrets } from '../places.ts'
import type { KeyringRequest } from './keyring-process.ts'

const answersWithinMs = 2000

/** The OS keyring. It may be missing, locked or hung: every call has two seconds, and then it counts as absent. */
export interface Keyring {
  read(profile: string): Promise<string | undefined>
  write(profile: string, secret: string): Promise<void>
  remove(profile: string): Promise<void>
}

export class KeyringAway extends Error {
  constructor(why: string) {
    super(`The keyring does not answer: ${why}`)
    this.name = 'KeyringAway'
  }
}

export function openKeyring(): Keyring {
  return {
    read: (profile) => asked({ verb: 'read', profile }),
    write: async (profile, secret) => {
      await asked({ verb: 'write', profile, secret })
    },
    remove: async (profile) => {
      await asked({ verb: 'remove', profile })
    },
  }
}

/** Whether a random value can be written, read back and removed, before anybody is asked to approve anything. */
export async function probeKeyring(): Promise<boolean> {
  try {
    return (await asked({ verb: 'probe', profile: '' })) === 'kept'
  } catch {
    return false
  }
}

/** In a process of its own: the library waits for the bus on the thread that calls it, and only a process can be ended. */
async function asked(request: KeyringRequest): Promise<string | undefined> {
  const child = spawn(process.execPath, [process.argv[1] ?? '', '__keyring'], {
    env: withoutSecrets(process.env),
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  })
  let late = false
  const timer = setTimeout(() => {
    late = true
    child.kill('SIGKILL')
  }, answersWithinMs)
  let answer: { value?: string } | undefined
  child.once('message', (message) => {
    answer = message as { value?: string }
  })
  // By a channel, where no list of processes shows it; a child that could not be started says so by its end.
  child.send(request, () => {})
  // Its last word may come after its end.
  await Promise.all([once(child, 'exit'), once(child, 'disconnect')]).catch(() => {})
  clearTimeout(timer)
  if (late) throw new KeyringAway(`nothing for ${answersWithinMs / 1000} s`)
  if (child.exitCode !== 0 || !answer) throw new KeyringAway('it is missing or refuses')
  return answer.value
}
