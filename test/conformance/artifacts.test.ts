import { expect, test } from 'vitest'
import { newPerson } from './support/actors.ts'
import { isoPattern } from './support/shapes.ts'
import { verifies } from './verifies.ts'

const skill = '---\nname: tidy\ndescription: Tidies up when asked to.\n---\nTidy up.\n'

test.each([
  ['skill', 'SKILL.md', skill],
  ['workflow', 'workflow.json', '{}'],
  ['file', 'notes.txt', 'hello'],
])('an artifact of type %s has an id and its type', async (type, path, content) => {
  verifies('artifacts:record:id-and-type')
  const person = await newPerson()
  const { status, body } = await person.post<Record<string, unknown>>('/artifacts', {
    type,
    files: [{ path, content }],
  })
  expect(status).toBe(201)
  expect(body).toMatchObject({
    id: expect.stringMatching(/./),
    type,
    filesCount: 1,
    sizeBytes: Buffer.byteLength(content),
    contentChecksum: expect.stringMatching(/^[0-9a-f]{64}$/),
    files: [{ path, checksum: expect.stringMatching(/^[0-9a-f]{64}$/) }],
    createdAt: expect.stringMatching(isoPattern),
  })
})
