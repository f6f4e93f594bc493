import { beforeAll, describe, expect, test } from 'vitest'
import { type Answer, createCaller } from '../support/caller.ts'
import { tell } from '../support/proof.ts'
import { atSize } from '../support/sizes.ts'
import { definitionOf, endStates, type Runs, runsOf } from '../support/workflows.ts'
import { calmStack } from './support/shared-stacks.ts'

/** Every round is a run of its own. */
const rounds = atSize(6, 500)
const together = 5

let runs: Runs

beforeAll(async () => {
  const { baseUrl } = await calmStack()
  const app = createCaller(baseUrl)
  runs = runsOf(app, await app.newPerson())
  const ask = [
    { type: 'mapping', id: 'm', mapConfig: '{"question":{"value":"Which?"}}' },
    { type: 'tool', id: 'ask', toolId: 'ask-human' },
    { type: 'tool', id: 'after', toolId: 'echo' },
  ]
  await runs.install('ask', definitionOf('ask', ask))
  await runs.install('quick', definitionOf('quick', [{ type: 'tool', id: 'only', toolId: 'echo' }]))
})

async function everyRound(race: (round: number) => Promise<void>): Promise<void> {
  let next = 0
  const lane = async () => {
    while (next < rounds) await race(next++)
  }
  await Promise.all(Array.from({ length: together }, lane))
}

const codeOf = ({ body }: Answer): string => body.code ?? body.error?.code
const openStates = ['running', 'waiting', 'suspended']

async function suspended(): Promise<string> {
  const runId = await runs.start('ask')
  await runs.reaches(runId, ['suspended'])
  return runId
}

describe(`${rounds} rounds`, { timeout: 60_000 + rounds * 1500 }, () => {
  test('ten answers at once: one is taken, and it is the one that the run goes on with', async () => {
    const refusals = new Map<string, number>()
    await everyRound(async (round) => {
      const runId = await suspended()
      const answers = await Promise.all(
        Array.from({ length: 10 }, (_, who) => runs.resume(runId, { resumeData: `${round}-${who}` })),
      )
      const winners = answers.flatMap(({ status }, who) => (status === 200 ? [who] : []))
      expect(winners, answers.map(({ text }) => text).join('\n')).toHaveLength(1)
      for (const answer of answers.filter(({ status }) => status !== 200)) {
        expect(answer.status).toBe(409)
        expect(['RESUME_IN_PROGRESS', 'NOT_SUSPENDED']).toContain(codeOf(answer))
        refusals.set(codeOf(answer), (refusals.get(codeOf(answer)) ?? 0) + 1)
      }
      const { run } = await runs.reaches(runId, endStates)
      expect(run.snapshot.result).toEqual({ answer: `${round}-${winners[0]}` })
    })
    tell(`refused: ${JSON.stringify(Object.fromEntries(refusals))}`)
  })

  test('cancel against the end: whoever is told 200 is right, and nothing moves afterwards', async () => {
    const ends = new Map<string, number>()
    await everyRound(async (round) => {
      const runId = await runs.start('quick')
      // Spread over the time that such a run takes, so that both ends are met.
      await new Promise((resolve) => setTimeout(resolve, (round % 10) * 3))
      const canceled = await runs.cancel(runId)
      expect([200, 409]).toContain(canceled.status)
      if (canceled.status === 409) expect(codeOf(canceled)).toBe('CONFLICT')
      const { run, steps } = await runs.reaches(runId, endStates)
      expect(run.status).toBe(canceled.status === 200 ? 'canceled' : 'success')
      expect(Object.values(steps).filter(({ status }) => openStates.includes(status))).toEqual([])
      ends.set(run.status, (ends.get(run.status) ?? 0) + 1)
      const later = (await runs.get(runId)).body
      expect([later.run.status, later.run.snapshot.context]).toEqual([run.status, run.snapshot.context])
    })
    tell(`ended: ${JSON.stringify(Object.fromEntries(ends))}`)
  })

  test('cancel against an answer: a canceled run stays canceled, whatever the answer was told', async () => {
    await everyRound(async () => {
      const runId = await suspended()
      const [answered, canceled] = await Promise.all([
        runs.resume(runId, { resumeData: 'yes' }),
        runs.cancel(runId),
      ])
      expect([200, 409]).toContain(answered.status)
      const { run } = await runs.reaches(runId, endStates)
      expect(run.status).toBe(canceled.status === 200 ? 'canceled' : 'success')
    })
  })
})
