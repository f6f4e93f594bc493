import { type Guildhall, NotActivatedError } from '@guildhall/sdk'
import type { Context } from '../context.ts'
import { exit } from '../exit-codes.ts'
import { Failure } from '../failure.ts'
import { joined, say } from '../output/safe-text.ts'
import { waitFor } from './waiting.ts'

export type Self = Awaited<ReturnType<Guildhall['permissions']['me']>>

/**
 * What the key may do. Where it may do nothing at all a person is asked first; one who left some of it out when they
 * confirmed the pairing has decided.
 */
export async function consentTo(
  context: Context,
  client: Guildhall,
  scopes: readonly string[],
): Promise<Self | undefined> {
  const self = await selfOf(client, context.signal)
  if (self || scopes.length === 0) return self
  await connect(context, client, scopes)
  return selfOf(client, context.signal)
}

async function selfOf(client: Guildhall, signal: AbortSignal): Promise<Self | undefined> {
  try {
    return await client.permissions.me({ signal })
  } catch (error) {
    if (NotActivatedError.is(error)) return undefined
    throw error
  }
}

/** Those of them that a key does not hold. */
export function lacking(self: Self, scopes: readonly string[]): string[] {
  return scopes.filter((scope) => !self.scopes.some((held) => held.scope === '*' || held.scope === scope))
}

/** One card for several scopes. Resolves when it was granted, wholly or in part. */
export async function connect(
  context: Context,
  client: Guildhall,
  scopes: readonly string[],
): Promise<string[]> {
  const { out, settings, signal } = context
  const asked = await client.consents.request({ requestedScopes: [...scopes] }, { signal })
  if (asked.status === 'active') return asked.scopes
  out.talk(say`Asked for ${joined(scopes, ', ')}. Confirm ${asked.link_code} in the app.`)
  const answer = await waitFor(context, {
    words: say`Waiting for a person to confirm ${asked.link_code}`,
    waitMs: settings.waitMs,
    poll: (wait) => client.consents.poll(asked.consent_id, { wait }, { signal }),
    isOver: ({ status }) => status !== 'pending',
  })
  if (answer?.status === 'granted') return answer.scopes ?? []
  if (answer?.status === 'denied') {
    throw new Failure({
      exitCode: exit.notAllowed,
      message: answer.deny_reason ? `Denied: "${answer.deny_reason}"` : 'The person denied it.',
      code: 'DENIED',
      next: [`guild perms declare ${scopes.join(' ')} --wait`],
    })
  }
  throw new Failure({
    exitCode: exit.waits,
    message: `Nobody has decided about ${asked.link_code} yet.`,
    next: [`guild perms declare ${scopes.join(' ')} --wait`],
  })
}
