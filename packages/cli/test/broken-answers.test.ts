import { afterAll, afterEach, describe, expect, test } from 'vitest'
import { keepAnswers, keptAnswers } from '../src/answers.ts'
import { brokenAnswer } from '../src/broken-answer.ts'
import { newHome, run } from './support/guild.ts'
import { answerTo, type Impostor, openImpostor, routes } from './support/impostor.ts'

/** Servers that answer 200 and JSON, but not what was promised. */

let impostor: Impostor | undefined
afterEach(() => {
  impostor?.close()
  impostor = undefined
})

const commands = [
  'whoami',
  'perms list',
  'exec show exec_x',
  'skills show x',
  'skills versions x',
  'skills install x',
  'skills pull x',
  'wf list',
  'wf show x',
  'wf run x',
  'trace show x',
  'agents show x',
  'billing',
  'artifacts get x',
  'keys list',
  'login --no-wait',
]

/** As somebody reads it: as JSON most answers are given on unread. */
async function ran(words: string) {
  const credential = words.startsWith('keys') ? 'GUILD_AUTH_TOKEN' : 'GUILD_API_KEY'
  const env = { GUILD_BASE_URL: impostor?.url ?? '', [credential]: 'guild_live_x' }
  const { code, stderr } = await run(newHome(), words.split(' '), { env })
  return { words, code, stderr }
}

describe('an answer that breaks the contract', () => {
  test.each([[null], [{}], [{ items: [null], runs: 5 }]])(
    '%j is no bug of guild',
    async (answer) => {
      impostor = await openImpostor(() => answer)
      const waiting = [...commands]
      const ended: Awaited<ReturnType<typeof ran>>[] = []
      const work = async () => {
        for (let words = waiting.shift(); words; words = waiting.shift()) ended.push(await ran(words))
      }
      await Promise.all([work(), work(), work()])
      for (const { words, code, stderr } of ended) {
        expect({ words, code }).toEqual({ words, code: 1 })
        expect(stderr).toMatch(/(is not what the contract says: |is no bundle).*guild doctor/s)
        expect(stderr).toContain('UNEXPECTED_ANSWER · exit 1')
      }
    },
    60_000,
  )

  test('is told by what it lacks', async () => {
    impostor = await openImpostor((method, path) => ({
      ...Object(answerTo(method, path, 'x')),
      scopes: undefined,
    }))
    expect((await ran('whoami')).stderr).toContain(
      "The server's answer to GET /api/v1/agents/me is not what the contract says: scopes is missing.",
    )
  })
})

describe('an answer that keeps to the contract', () => {
  const { fetch } = globalThis
  afterAll(() => {
    globalThis.fetch = fetch
  })

  test('is not to blame for what guild does wrong, whichever it is', async () => {
    impostor = await openImpostor((method, path) => answerTo(method, path, 'x'))
    keepAnswers()
    let looked = 0
    for (const { method, parts, route } of routes) {
      const good = Object.entries(route.responses).find(([status]) => status.startsWith('2'))
      if (!good?.[1].content?.['application/json']) continue
      const path = parts.map((part) => (part.startsWith('{') ? 'x' : part)).join('/')
      await (await globalThis.fetch(impostor.url + path, { method: method.toUpperCase() })).text()
      const [last] = keptAnswers()
      expect(last?.path).toBe(path)
      expect(await brokenAnswer(new TypeError('ours')), `${method} ${path}`).toBeUndefined()
      looked++
    }
    expect(looked).toBeGreaterThan(100)
  })
})
