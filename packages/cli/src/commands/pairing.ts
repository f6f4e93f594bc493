import { finishPairing, type Paired, PairingError } from '@guildhall/sdk'
import { userAgent } from '../client.ts'
import type { Context } from '../context.ts'
import { type PendingLogin, removePending } from '../credentials/pending-login.ts'
import { exit } from '../exit-codes.ts'
import { Failure } from '../failure.ts'
import { left } from '../output/duration.ts'
import { say } from '../output/safe-text.ts'

const exits = { denied: exit.notAllowed, expired: exit.waits, consumed: exit.conflict }

/** Waits until the person has decided. The key comes once: whoever calls keeps it at once. */
export async function collectKey({ out, settings, signal }: Context, pending: PendingLogin): Promise<Paired> {
  const expiresAt = new Date(pending.expiresAt)
  const show = () =>
    out.progress(
      say`Waiting for a person to confirm ${pending.userCode}, ${left(expiresAt.getTime() - Date.now())} left`,
    )
  show()
  const ticking = out.stderrIsTerminal ? setInterval(show, 1000) : undefined
  try {
    const state = { ...pending, expiresAt, intervalMs: pending.intervalSeconds * 1000 }
    return await finishPairing(state, { signal, userAgent })
  } catch (error) {
    if (!PairingError.is(error)) throw error
    removePending(settings.environment)
    throw new Failure({
      exitCode: exits[error.status],
      message: `${error.message}.`,
      code: error.status.toUpperCase(),
      next: [`guild login ${pending.baseUrl}`],
    })
  } finally {
    clearInterval(ticking)
    out.endProgress()
  }
}
