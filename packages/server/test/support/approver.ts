import { setTimeout as sleep } from 'node:timers/promises'
import type { Answer, Person } from '../../../../test/support/caller.ts'
import type { House } from './house.ts'
import { newPersonWithPasskey } from './passkeys.ts'

type Verb = 'approve' | 'deny'

interface Waiting {
  readonly id: string
  readonly kind: string
  readonly scopes?: readonly { readonly scope: string }[]
}

interface Decision {
  readonly mode?: string
  readonly reason?: string
}

/** Somebody who looks at what waits for them and decides it with their passkey, in another process than was asked. */
export interface Approver extends Person {
  waiting(): Promise<Waiting[]>
  decide(id: string, verb: Verb, decision?: Decision): Promise<Answer>
  /** Decides the next request for a permission; gives its id. */
  decideNext(verb: Verb, decision?: Decision): Promise<string>
}

export async function newApprover([house, other]: readonly [House, House]): Promise<Approver> {
  const { person, authenticator } = await newPersonWithPasskey(house)
  const { token } = person
  /** To let an agent speak to agents takes a passkey. */
  const proofOf = async (id: string, { mode }: Decision) => {
    const body = mode === undefined ? {} : { modes: { 'agent:message': mode } }
    const proof = await other.call('POST', `/api/v1/approvals/${id}/challenge`, { token, body })
    return { device_auth: authenticator.assert(proof.body.options) }
  }
  const waiting = async () =>
    (await house.call('GET', '/api/v1/approvals?status=pending', { token })).body.items ?? []
  const decide = async (id: string, verb: Verb, decision: Decision = {}) => {
    const body = { ...decision, ...(verb === 'approve' && (await proofOf(id, decision))) }
    return other.call('POST', `/api/v1/agents/request-permission/${id}/${verb}`, { token, body })
  }
  return {
    ...person,
    waiting,
    decide,
    decideNext: async (verb, decision) => {
      for (let tries = 0; tries < 200; tries++) {
        const found = (await waiting()).find(({ kind }: Waiting) => kind === 'permission')
        if (found) {
          const answer = await decide(found.id, verb, decision)
          if (answer.status !== 200) throw new Error(answer.text)
          return found.id
        }
        await sleep(50)
      }
      throw new Error('nobody asked')
    },
  }
}
