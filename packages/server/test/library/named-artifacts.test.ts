import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Person } from '../../../../test/support/caller.ts'
import { installErrand } from '../../../../test/support/executions.ts'
import { definitionOf } from '../../../../test/support/workflows.ts'
import { createDatabase, type House, openHouse } from '../support/house.ts'

/** To name an artifact is to have it read: a key may name what it made, and all else only if it may read files. */
let house: House
let person: Person

beforeAll(async () => {
  house = await openHouse({ DATABASE_URL: await createDatabase() })
  person = await house.newPerson()
  await installErrand(house, person)
})

afterAll(() => house?.close())

const skill = '---\nname: secret\ndescription: Not for everybody.\n---\nSay nothing.'
const flow = definitionOf('secret', [{ type: 'sleep', id: 'nap', duration: 1 }])
const asSkill = { type: 'skill', slug: 'secret', files: [{ path: 'SKILL.md', content: skill }] }
const asFlow = {
  type: 'workflow',
  slug: 'secret',
  files: [{ path: 'workflow.json', content: JSON.stringify(flow) }],
}

const ways = [
  {
    name: 'installing a skill',
    artifact: asSkill,
    path: '/skills/secret/install',
    body: (artifactId: string) => ({ artifactId }),
  },
  {
    name: 'installing a workflow',
    artifact: asFlow,
    path: '/workflows/install-from-artifact',
    body: (artifactId: string) => ({ artifactId }),
  },
  {
    name: 'attaching it',
    artifact: asSkill,
    path: '/executions',
    body: (artifactId: string) => ({
      skill_slug: 'errand',
      input: 'Read it out.',
      attachments: [{ name: 'it', artifactId }],
    }),
  },
]

describe.each(ways)('$name', ({ artifact, path, body }) => {
  const write = { scopes: ['workspace:files:write', 'tool:execute'] }
  const make = async (by: { key: string } | { token: string }): Promise<string> => {
    const made = await house.call('POST', '/api/v1/artifacts', { ...by, body: artifact })
    expect(made.status, made.text).toBe(201)
    return made.body.id
  }
  const name = (key: string, id: string) => house.call('POST', `/api/v1${path}`, { key, body: body(id) })

  test('is refused to a key that may not read what another made', async () => {
    const { secret } = await house.newKey(person, write)
    for (const by of [{ token: person.token }, { key: (await house.newKey(person, write)).secret }]) {
      const answer = await name(secret, await make(by))
      expect(answer.status, answer.text).toBe(403)
      expect(answer.body.error.details.missing_scopes).toEqual(['workspace:files:read'])
    }
    // Nor is it told whether there is one.
    expect((await name(secret, 'none-such')).status).toBe(403)
  })

  test('is allowed to the key that made it, and to one that may read', async () => {
    const { secret } = await house.newKey(person, write)
    const own = await name(secret, await make({ key: secret }))
    expect(own.status, own.text).toBeLessThan(300)
    const reader = await house.newKey(person, { scopes: [...write.scopes, 'workspace:files:read'] })
    const read = await name(reader.secret, await make({ token: person.token }))
    expect(read.status, read.text).toBeLessThan(300)
  })
})
