import { afterAll, beforeAll, expect, test } from 'vitest'
import { executionTurns } from '#running/executions/turn-source.ts'
import { findEarlierWork, Numbering } from '#running/traces/traces.ts'
import type { Person } from '../../../../test/support/caller.ts'
import { createDatabase, type House, openHouse } from '../support/house.ts'
import { newTrace, said } from '../support/traces.ts'

let house: House
let person: Person

beforeAll(async () => {
  house = await openHouse({ DATABASE_URL: await createDatabase() })
  person = await house.newPerson()
})

afterAll(() => house?.close())

/** As a worker asks that has the execution of this trace. */
async function earlierOn(traceId: string) {
  const { db } = house.deps.database
  const { id } = await db
    .selectFrom('executions')
    .select('id')
    .where('trace_id', '=', traceId)
    .executeTakeFirstOrThrow()
  const sources = { execution: executionTurns(house.deps.redis) }
  const parts = { ...house.deps, sources, numbering: new Numbering(10) }
  return findEarlierWork(parts, { workspaceId: person.workspaceId, id: traceId }, id)
}

test('what comes first on its trace is told of nothing', async () => {
  expect(await earlierOn(await newTrace(house, person))).toBeUndefined()
})

test('what goes on is told of what was appended, and gets no file that only an appended turn names', async () => {
  const file = { type: 'file', name: 'payroll.csv', artifactId: 'artifact_of_somebody_else' }
  const named = { type: 'agent.text', payload: { content: [file], origin: 'producer' } }
  const earlier = await earlierOn(await newTrace(house, person, [said('Begun'), named]))
  expect(earlier?.brief).toContain('|   Begun')
  expect(earlier?.brief).toContain('| payroll.csv')
  expect(earlier?.artifactId).toBeUndefined()
})
