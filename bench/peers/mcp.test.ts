import { mkdtempSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Stack, startStack } from '../../stack/start.ts'
import { createCaller } from '../../test/support/caller.ts'
import { newRunner } from '../../test/support/executions.ts'
import { modernMessage } from '../../test/support/mcp.ts'
import { type KeyProxy, runProgram, startFixture, startKeyProxy } from './mcp-stage.ts'

/** Two API processes of the product and two with the suite's own catalogue; each request goes to the other of two. */
let stack: Stack
let fixture: Awaited<ReturnType<typeof startFixture>>
let proxies: { product: KeyProxy; fixture: KeyProxy }
let key: string
const folder = mkdtempSync(join(tmpdir(), 'guildhall-mcp-'))

beforeAll(async () => {
  proxies = { product: await startKeyProxy(), fixture: await startKeyProxy() }
  const origins = [...proxies.product.origins, ...proxies.fixture.origins]
  stack = await startStack({ api: 2, limits: 'off', env: { CORS_ORIGINS: origins.join(',') } })
  fixture = await startFixture(stack)
  const app = createCaller(stack.baseUrl)
  key = (await app.newKey(await newRunner(app))).secret
  proxies.product.point(stack.baseUrl, key)
  proxies.fixture.point(fixture.url, key)
}, 120_000)

afterAll(async () => {
  await fixture?.stop()
  await stack?.stop()
  for (const proxy of Object.values(proxies ?? {})) proxy.close()
  await rm(folder, { recursive: true, force: true })
}, 60_000)

/** What is known not to pass, each with its reason; an entry that passes fails the run. */
const expected = (name: string) => [
  '--expected-failures',
  join(import.meta.dirname, `mcp-expected-${name}.yml`),
]
const suite = (proxy: KeyProxy, ...args: string[]) =>
  runProgram('conformance/dist/index.js', ['server', '--url', proxy.url, ...args], folder)

describe.each(['2025-11-25', '2026-07-28'])('the official suite for revision %s', (revision) => {
  test('finds every requirement met by the wire', { timeout: 300_000 }, async () => {
    const { code, output } = await suite(proxies.fixture, '--requirements', revision, ...expected('fixture'))
    expect(code, output.slice(-6000)).toBe(0)
  })

  test('finds in the product what is no matter of its own fixtures', { timeout: 300_000 }, async () => {
    const { code, output } = await suite(proxies.product, '--requirements', revision, ...expected('product'))
    expect(code, output.slice(-6000)).toBe(0)
  })
})

test('the list of tools costs a model at most 3,000 tokens', async () => {
  const { status, text, body } = await createCaller(stack.baseUrl).call('POST', '/mcp/', {
    key,
    ...modernMessage('tools/list', {}, {}),
  })
  const { tools } = body.result as { tools: { name: string; description: string; inputSchema: object }[] }
  const given = tools.map(({ name, description, inputSchema }) => ({ name, description, inputSchema }))
  const tokens = { answer: countTokens(text), given: countTokens(JSON.stringify(given)) }
  const each = tools.map((tool) => `${tool.name} ${countTokens(JSON.stringify(tool))}`)
  console.log(
    `tokens (o200k): the answer ${tokens.answer}, what a model is given ${tokens.given}; ${each.join(', ')}`,
  )
  expect(status).toBe(200)
  expect(tokens.answer, each.join('\n')).toBeLessThanOrEqual(3000)
  expect(tokens.given, each.join('\n')).toBeLessThanOrEqual(1850)
})

describe.each(['legacy', 'modern', 'auto'])('the Inspector, by its command line, as a %s client', (era) => {
  const inspect = async (...args: string[]) => {
    const url = new URL('/mcp/', stack.baseUrl).href
    const shared = [
      '--cli',
      url,
      '--transport',
      'http',
      '--protocol-era',
      era,
      '--header',
      `x-api-key: ${key}`,
    ]
    const { code, output } = await runProgram(
      'inspector/clients/launcher/build/index.js',
      [...shared, ...args],
      folder,
    )
    expect(code, output).toBe(0)
    return output
  }

  test('lists, calls, reads and is prompted, and finds no fault with the tools', {
    timeout: 120_000,
  }, async () => {
    const [tools, called, prompts, prompted, resources, skills] = await Promise.all([
      inspect('--method', 'tools/list', '--strict'),
      inspect('--method', 'tools/call', '--tool-name', 'whoami'),
      inspect('--method', 'prompts/list'),
      inspect(
        '--method',
        'prompts/get',
        '--prompt-name',
        'run-skill',
        '--prompt-args',
        'skill=errand',
        'input=x',
      ),
      inspect('--method', 'resources/list'),
      inspect('--method', 'skills/list', '--verify', '--require-digests'),
    ])
    expect(tools).toContain('"ask_person"')
    expect(called).toContain('basedmode')
    expect(prompts).toContain('go-on-with')
    expect(prompted).toContain('run_skill')
    expect(resources).toContain('skill://errand/SKILL.md')
    expect(skills).toContain('skill://errand/SKILL.md')
  })
})
