import { mkdirSync, mkdtempSync } from 'node:fs'
import { rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Answer, Person } from '../../../../test/support/caller.ts'
import { installErrand } from '../../../../test/support/executions.ts'
import { newSkillArtifact, skillText } from '../../../../test/support/skills.ts'
import { definitionOf } from '../../../../test/support/workflows.ts'
import { createDatabase, type House, openHouse } from '../support/house.ts'
import { type Ingress, openIngress } from '../support/ingress.ts'

const folder = mkdtempSync(join(tmpdir(), 'guildhall-away-'))
const blobs = join(folder, 'blobs')
mkdirSync(blobs)
const reason = 'STORAGE_UNAVAILABLE'

let ingress: Ingress
let house: House
let person: Person

beforeAll(async () => {
  ingress = await openIngress()
  house = await openHouse({
    DATABASE_URL: await createDatabase(),
    STORAGE: `directory:${blobs}`,
    RESTATE_INGRESS_URL: ingress.url,
    STARTING_CREDITS: '1000',
  })
  person = await house.newPerson()
})

afterAll(async () => {
  await house?.close()
  await ingress?.close()
  await rm(folder, { recursive: true })
})

/** Something is where the store should be that is none. */
async function withoutStore<T>(work: () => Promise<T>): Promise<T> {
  await rename(blobs, `${blobs}.away`)
  await writeFile(blobs, '')
  try {
    return await work()
  } finally {
    await rm(blobs)
    await rename(`${blobs}.away`, blobs)
  }
}

const post = (path: string, body: unknown): Promise<Answer> =>
  house.call('POST', `/api/v1${path}`, { token: person.token, body })

const library = async () =>
  (await house.call('GET', '/api/v1/skills', { token: person.token })).body.map(
    ({ slug, versionNumber }: { slug: string; versionNumber: number }) => [slug, versionNumber],
  )

const attachments = [{ name: 'a.txt', mimeType: 'text/plain', data: Buffer.from('a').toString('base64') }]

test('what fails because the store is away fails under the name it has in the interface, and says why', async () => {
  await installErrand(house, person)
  const { id: artifactId } = await newSkillArtifact(house, person, {
    'SKILL.md': skillText('tidy', 'Tidy up.'),
  })
  const definition = definitionOf('flow', [{ type: 'sleep', id: 's', duration: 1000 }])
  const files = [{ path: 'workflow.json', content: JSON.stringify(definition) }]
  const flow = await post('/artifacts', { type: 'workflow', files })
  expect(flow.status, flow.text).toBe(201)

  const answers = await withoutStore(async () => ({
    install: await post('/skills/tidy/install', { artifactId }),
    run: await post('/skills/errand/run', { input: 'Go.', attachments }),
    workflow: await post('/workflows/flow/install', { definition }),
    fromArtifact: await post('/workflows/install-from-artifact', { artifactId: flow.body.id }),
    artifact: await post('/artifacts', { type: 'file', files: [{ path: 'a.txt', content: 'new' }] }),
    prepared: await post('/executions', { skill_slug: 'errand', input: 'Go.', attachments }),
  }))
  const { run, ...enveloped } = answers
  expect([run.status, run.body]).toEqual([
    500,
    { error: 'EXECUTION_FAILED', message: expect.any(String), reason },
  ])
  const told = Object.entries(enveloped).map(([name, { status, body }]) => [
    name,
    status,
    body.error.code,
    body.error.details,
  ])
  expect(told).toEqual([
    ['install', 500, 'INTERNAL_ERROR', { reason }],
    ['workflow', 500, 'INTERNAL_ERROR', { reason }],
    ['fromArtifact', 500, 'INTERNAL_ERROR', { reason }],
    ['artifact', 503, 'SERVICE_UNAVAILABLE', { reason }],
    ['prepared', 503, 'SERVICE_UNAVAILABLE', { reason }],
  ])
  for (const { headers, text } of Object.values(answers)) {
    expect(headers.get('retry-after')).toBe('1')
    expect(text).not.toMatch(/ENOTDIR|EEXIST|blobs|\.ts\b/)
  }
  expect(await library()).toEqual([['errand', 1]])

  // It is the failing alone that was told: with the store back the same requests go through.
  const first = await post('/skills/errand/run', { input: 'Go.', attachments })
  expect(first.status, first.text).toBe(200)
  const again = await withoutStore(() =>
    post(`/executions/${first.body.executionId}/rerun`, {
      input: 'Go.',
      attachments: [{ name: 'b.txt', mimeType: 'text/plain', data: Buffer.from('b').toString('base64') }],
    }),
  )
  expect([again.status, again.body.error]).toMatchObject([
    500,
    { code: 'EXECUTION_FAILED', details: { reason } },
  ])
  const { executionId } = first.body
  expect((await post(`/executions/${executionId}/cancel`, {})).status).toBe(200)
  expect((await post('/skills/tidy/install', { artifactId })).status).toBe(200)
})
