import { afterAll, beforeAll, expect, test } from 'vitest'
import { repairRuns } from '#running/runs/repair.ts'
import { RunWriter } from '#running/runs/run-writer.ts'
import { settleQuestions } from '#running/runs/settle-questions.ts'
import type { Person } from '../../../../test/support/caller.ts'
import { definitionOf, runsOf } from '../../../../test/support/workflows.ts'
import { createDatabase, type House, openHouse } from '../support/house.ts'
import { runParts } from '../support/runs.ts'

const ofRun = 20
const ofWorkspaceAndKey = 200

let house: House
let person: Person
let key: string

beforeAll(async () => {
  // No run may advance here: launches and answers wait in the records and need no engine.
  house = await openHouse({ DATABASE_URL: await createDatabase(), RUNS_PER_WORKSPACE: '0' })
})
afterAll(() => house?.close())

async function newAsker(toolId = 'ask-human'): Promise<void> {
  person = await house.newPerson()
  key = (await house.newKey(person)).secret
  const ask = { type: 'tool', id: 'ask', toolId }
  await runsOf(house, person).install('asks', definitionOf('asks', [{ type: 'foreach', step: ask }]))
}

/** A run that waits for so many answers, as the engine would write it. */
async function asking(
  count: number,
  by: object,
  payload: unknown = { kind: 'question', question: 'Whose?' },
) {
  const launched = await house.call('POST', '/api/v1/workflows/asks/launch', { ...by, body: { inputs: {} } })
  expect(launched.status, launched.text).toBe(201)
  const { runId } = launched.body
  await house.deps.database.db
    .updateTable('workflow_runs')
    .set({ queued_at: null, advancing: true, invocation_id: 'none' })
    .where('run_id', '=', runId)
    .execute()
  const waiting = Array.from({ length: count }, (_, index) => {
    return { stepId: 'ask', index, iteration: 0, key: `ask:${index}:0`, payload, suspendedAt: 2 }
  })
  const record = { status: 'suspended' as const, payload: {}, startedAt: 1, metadata: { waiting } }
  const step = { stepId: 'ask', position: [1], record, revision: 1 }
  const writer = new RunWriter(house.deps.database)
  await writer.write({ runId, opened: 0, advancing: false, steps: [step], status: 'suspended', pause: 1 })
  await settleQuestions(runParts(house), runId)
  return runId as string
}

interface Card {
  id: string
  workflow: { runId: string; index: number; payload: unknown; payloadBytes?: number; payloadUrl?: string }
}

async function inbox(): Promise<Card[]> {
  const cards: Card[] = []
  for (let cursor = ''; ; ) {
    const path = `/api/v1/approvals?kind=workflow&status=pending&limit=100${cursor}`
    const { body } = await house.call('GET', path, { token: person.token })
    cards.push(...body.items)
    if (!body.nextCursor) return cards
    cursor = `&cursor=${body.nextCursor}`
  }
}

const ofRunId = (cards: Card[], runId: string) => cards.filter(({ workflow }) => workflow.runId === runId)

test('a run has twenty questions open, the first of them, and they stay when it is looked at again', async () => {
  await newAsker()
  const runId = await asking(ofRun + 3, { token: person.token })
  const first = await inbox()
  expect(first.map(({ workflow }) => workflow.index).sort((a, b) => a - b)).toEqual(
    Array.from({ length: ofRun }, (_, index) => index),
  )
  await settleQuestions(runParts(house), runId)
  expect((await inbox()).map(({ id }) => id).sort()).toEqual(first.map(({ id }) => id).sort())
})

test('a workspace and key has two hundred, and whoever waited longest is asked when one is answered', async () => {
  await newAsker()
  for (let runs = 0; runs < ofWorkspaceAndKey / ofRun; runs++) await asking(ofRun, { key })
  expect(await inbox()).toHaveLength(ofWorkspaceAndKey)
  const waiting = [await asking(2, { key }), await asking(1, { key })]
  await repairRuns(runParts(house))
  const full = await inbox()
  expect(full).toHaveLength(ofWorkspaceAndKey)
  // What the person runs is not held back by what the key does.
  const own = await asking(1, { token: person.token })
  expect(ofRunId(await inbox(), own)).toHaveLength(1)
  const [answered] = full
  const answer = await house.call('POST', `/api/v1/approvals/${answered?.id}/approve`, {
    token: person.token,
    body: { resumeData: { answer: 'Mine.' } },
  })
  expect(answer.status, answer.text).toBe(200)
  await repairRuns(runParts(house))
  const then = await inbox()
  expect(waiting.map((runId) => ofRunId(then, runId).length)).toEqual([1, 0])
  expect(then).toHaveLength(ofWorkspaceAndKey + 1)
  // The one that was canceled leaves room for all that wait, one run at a time.
  await runsOf(house, person).cancel(full.at(-1)?.workflow.runId ?? '')
  await repairRuns(runParts(house))
  await repairRuns(runParts(house))
  const last = await inbox()
  expect(waiting.map((runId) => ofRunId(last, runId).length)).toEqual([2, 1])
})

test('runs that ask at once do not come to more', async () => {
  await newAsker()
  await Promise.all(Array.from({ length: 12 }, () => asking(ofRun, { key })))
  expect(await inbox()).toHaveLength(ofWorkspaceAndKey)
})

test('of a long question the beginning is shown, and where the rest is', async () => {
  await newAsker('request-approval')
  const payload = { kind: 'approval', details: { text: 'x'.repeat(900_000) }, action: 'Publish' }
  const runId = await asking(1, { key }, payload)
  const [card] = await inbox()
  expect(card?.workflow).toMatchObject({
    payload: { kind: 'approval', action: 'Publish', details: { text: expect.stringMatching(/^x+…$/) } },
    payloadBytes: JSON.stringify(payload).length,
    payloadUrl: `/api/v1/workflows/runs/${runId}`,
  })
  expect(JSON.stringify(card?.workflow.payload).length).toBeLessThanOrEqual(32 * 1024)
  const whole = await house.call('GET', card?.workflow.payloadUrl ?? '', { token: person.token })
  expect(whole.text).toContain(payload.details.text)
  const denied = await house.call('POST', `/api/v1/approvals/${card?.id}/deny`, {
    token: person.token,
    body: {},
  })
  expect(denied.status, denied.text).toBe(200)
})
