import { expect, test } from 'vitest'
import {
  confirm,
  deny,
  newPerson,
  type Person,
  type PollAnswer,
  pollNow,
  startPairing,
} from './support/actors.ts'
import type { Answer } from './support/client.ts'
import { expectRefusal } from './support/shapes.ts'
import { verifies } from './verifies.ts'

interface Outcome {
  approval: Answer
  denial: Answer
  poll: Answer<PollAnswer>
}

async function race(approver: Person, denier: Person, approveFirst: boolean): Promise<Outcome> {
  const pairing = await startPairing()
  const approve = () => confirm(approver, pairing.userCode)
  const refuse = () => deny(denier, pairing.userCode)
  const [first, second] = await Promise.all(approveFirst ? [approve(), refuse()] : [refuse(), approve()])
  if (!first || !second) throw new Error('Promise.all answers for each')
  const [approval, denial] = approveFirst ? [first, second] : [second, first]
  return { approval, denial, poll: await pollNow(pairing) }
}

/** Ten codes for each couple; half of the couples are one person with two screens. */
async function raceFifty(): Promise<Outcome[]> {
  const outcomes: Outcome[] = []
  for (let couple = 0; couple < 5; couple++) {
    const approver = await newPerson()
    const denier = couple % 2 === 0 ? await newPerson() : approver
    const codes = Array.from({ length: 10 }, (_, index) => race(approver, denier, index % 2 === 0))
    outcomes.push(...(await Promise.all(codes)))
  }
  return outcomes
}

test('of a confirm and a deny sent together one wins, over fifty codes', async () => {
  verifies('activation:race:approve-deny-one-winner', 'activation:race:loser-409-names-state')
  const outcomes = await raceFifty()
  expect(outcomes).toHaveLength(50)
  for (const { approval, denial, poll } of outcomes) {
    expect([approval.status, denial.status].sort()).toEqual([200, 409])
    const [loser, state] = approval.status === 200 ? [denial, 'approved'] : [approval, 'denied']
    expect(expectRefusal(loser, 409, 'CONFLICT').message).toContain(state)
    expect(poll.status).toBe(200)
    expect(poll.body.status).toBe(state)
    expect(poll.body.api_key !== undefined).toBe(state === 'approved')
  }
})
