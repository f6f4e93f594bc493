import { expect, test } from 'vitest'
import { newKey, newPerson } from './support/actors.ts'
import { expectRefusal } from './support/shapes.ts'
import { verifies } from './verifies.ts'

interface Agent {
  name: string
  versionNumber: number
}

test('an agent can be made again what it was', async () => {
  verifies('agents:versions:restore')
  const person = await newPerson()
  const key = await newKey(person, { scopes: ['agent:list', 'workspace:files:write'] })
  await key.post('/agents', { slug: 'writer', name: 'First' })
  await key.patch('/agents/writer', { name: 'Second' })
  const restored = await key.post<Agent>('/agents/writer/versions/1/restore')
  expect([restored.status, restored.body.name, restored.body.versionNumber]).toEqual([200, 'First', 3])
  const versions = await key.get<(Agent & { active: boolean })[]>('/agents/writer/versions')
  expect(versions.body.map(({ name, versionNumber, active }) => [versionNumber, name, active])).toEqual([
    [3, 'First', true],
    [2, 'Second', false],
    [1, 'First', false],
  ])
  expectRefusal(await key.post('/agents/writer/versions/9/restore'), 404, 'NOT_FOUND')
})
