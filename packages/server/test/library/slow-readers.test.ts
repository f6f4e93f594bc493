import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readlinkSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import type { Person } from '../../../../test/support/caller.ts'
import { skillText } from '../../../../test/support/skills.ts'
import { createDatabase, type House, openHouse } from '../support/house.ts'

const blobs = mkdtempSync(join(tmpdir(), 'guildhall-slow-readers-'))
/** More than the two ends of a connection take that nobody reads from. */
const sizeBytes = 9_500_000
let house: House
let person: Person

beforeAll(async () => {
  house = await openHouse({
    DATABASE_URL: await createDatabase(),
    STORAGE: `directory:${blobs}`,
    HELD_BYTES_PER_CREDENTIAL: '30000000',
  })
  person = await house.newPerson()
})

afterAll(async () => {
  await house?.close()
  await rm(blobs, { recursive: true })
})

const post = (path: string, body: unknown) =>
  house.call('POST', `/api/v1${path}`, { token: person.token, body })

/** Asks for something, and takes no more of it than its head. */
async function askAndPause(path: string): Promise<string> {
  const socket = connect(Number(new URL(house.url).port), '127.0.0.1')
  onTestFinished(() => void socket.destroy())
  socket.write(`GET /api/v1${path} HTTP/1.1\r\nhost: a\r\nx-auth-token: ${person.token}\r\n\r\n`)
  const [head] = await once(socket, 'data')
  socket.pause()
  return String(head).split('\r\n')[0] ?? ''
}

/** Files of the store that this process, which is the server, holds open. */
const openFiles = () =>
  readdirSync('/proc/self/fd').filter((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`).startsWith(blobs)
    } catch {
      return false
    }
  })

test('who takes a file or a bundle slowly holds nothing of the store, and what is held for it is counted', async () => {
  // No text gets smaller by being packed that says nothing.
  const content = randomBytes(sizeBytes).toString('base64')
  const skill = Buffer.from(skillText('slow', 'Be slow.')).toString('base64')
  const files = [
    { path: 'SKILL.md', content: skill, encoding: 'base64' },
    { path: 'large.bin', content, encoding: 'base64' },
  ]
  const made = await post('/artifacts', { type: 'skill', slug: 'slow', files })
  expect(made.status).toBe(201)
  expect((await post('/skills/slow/install', { artifactId: made.body.id })).status).toBe(200)
  for (const path of [`/artifacts/${made.body.id}/content?path=large.bin`, '/skills/slow/bundle']) {
    expect(await askAndPause(path)).toContain(' 200 ')
    expect(openFiles()).toEqual([])
  }
  expect(await askAndPause('/skills/slow/bundle')).toContain(' 200 ')
  expect(await askAndPause('/skills/slow/bundle')).toContain(' 503 ')
})
