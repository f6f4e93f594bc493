import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { bash, installErrand, script } from '../../../test/support/executions.ts'
import { pidsOf } from '../../../test/support/processes.ts'
import { atSize } from '../../../test/support/sizes.ts'
import { openStreamCutter } from '../../../test/support/stream-cutter.ts'
import { type ExecutionStep, Guildhall } from '../src/index.ts'
import { app, baseUrl, databaseUrl, dir } from './support/stack.ts'

const cuts = atSize(24, 50)
const rounds = atSize(1, 20)
/** At these cuts a process goes too. At full size all of them do, and for a while nobody answers. */
const kills = [Math.floor(cuts / 3), Math.floor((cuts * 2) / 3)]
const isWhole = cuts >= 50

let database: pg.Client

beforeAll(async () => {
  database = new pg.Client({ connectionString: databaseUrl })
  await database.connect()
})

afterAll(async () => {
  await database?.end()
})

async function newKey(): Promise<string> {
  const person = await app.newPerson()
  await installErrand(app, person)
  return (await app.newKey(person)).secret
}

/** At least three events for each cut; those of the tools come while the stream is read. */
function manySteps(): string {
  const tools = [bash('echo one; echo two'), bash('seq 1 40')]
  const steps = Array.from({ length: Math.ceil(cuts / 2) }, (_, step) => ({
    say: `Step ${step}: äöü 漢字 `.repeat(4),
    tools,
  }))
  return script(...steps, { say: 'Done.' })
}

/** As it lies there: payloads are kept as text, and sent as they are. */
async function logOf(executionId: string): Promise<unknown[]> {
  const { rows } = await database.query(
    `select e.sequence, e.type, e.payload from execution_events e join executions x on x.id = e.execution_id
     where x.execution_id = $1 order by e.sequence`,
    [executionId],
  )
  return rows
}

const factsOf = ({ sequence, type, payload }: ExecutionStep & { sequence?: number }) => ({
  sequence,
  type,
  payload: JSON.stringify(payload),
})

test.each(Array.from({ length: rounds }, (_, index) => index + 1))(
  'a stream that is cut over and over gives every event once, in order (round %i)',
  async () => {
    const killed: number[] = []
    const cutter = await openStreamCutter(baseUrl, {
      cuts,
      onCut: (done) => {
        if (!kills.includes(done)) return false
        const { api } = pidsOf(dir)
        const going = isWhole ? api : api.slice(kills.indexOf(done), kills.indexOf(done) + 1)
        for (const pid of going) process.kill(pid, 'SIGKILL')
        killed.push(...going)
        return isWhole
      },
    })
    try {
      let tokens = 0
      const guild = new Guildhall({
        baseUrl,
        apiKey: await newKey(),
        fetch: cutter.fetch,
        onRequest: ({ operation }) => {
          if (operation === 'getStreamToken') tokens++
        },
      })
      const run = await guild.skills.run('errand', { input: manySteps() })
      const events: ExecutionStep[] = []
      for await (const event of run.events()) events.push(event)
      expect(events.map(factsOf)).toEqual(await logOf(run.id))
      expect(events.at(-1)?.type).toBe('session.status_idle')
      const eighth = Math.floor(cuts / 8)
      for (const place of ['within', 'between', 'head', 'closed'])
        expect(cutter.places()[place], place).toBeGreaterThan(eighth)
      expect(cutter.places()['before the last']).toBe(1)
      expect(cutter.done()).toBe(cuts + 1)
      expect(new Set(killed).size).toBe(isWhole ? 4 : 2)
      expect(tokens).toBeLessThanOrEqual(10)
    } finally {
      await cutter.close()
    }
  },
  180_000,
)
