import { execFile } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { beforeAll, describe, expect, test } from 'vitest'
import { dist, type Installed, installPackage, npm, runtimeAt } from './installed.ts'

const run = promisify(execFile)
let installed: Installed

beforeAll(() => {
  installed = installPackage()
}, 240_000)

test('it brings nobody with it, and is small', () => {
  const tree = JSON.parse(npm(installed.folder, ['ls', '--all', '--json']))
  expect(Object.keys(tree.dependencies)).toEqual(['@guildhall/sdk'])
  expect(tree.dependencies['@guildhall/sdk']).not.toHaveProperty('dependencies')
  expect(statSync(installed.tarball).size).toBeLessThan(150_000)
  expect(filesIn(dist).length).toBeLessThanOrEqual(250)
})

test('nothing of Node is needed but below node/, and nothing of this repository is in it', () => {
  for (const name of filesIn(dist)) {
    const text = readFileSync(join(dist, name), 'utf8')
    if (!/^(node|examples)\//.test(name)) expect(text, name).not.toMatch(/from ['"]node:/)
    expect(text, name).not.toMatch(/from ['"](@guildhall\/contract|[^'"]*\.test\b)/)
    if (name.endsWith('.js')) expect(text, name).not.toMatch(/from ['"][^'"]+\.ts['"]/)
  }
})

test('publint and attw find nothing', async () => {
  const lint = await run(runtimeAt('.bin/publint'), ['--strict', dist])
  expect(lint.stdout).toContain('All good!')
  // It ends with another code when it finds one; of whoever requires modules it tells, and passes over.
  const types = await run(runtimeAt('.bin/attw'), [installed.tarball, '--profile', 'esm-only', '--no-color'])
  expect(types.stdout).toContain('"@guildhall/sdk/node"')
}, 60_000)

const fixture = `
import { Guildhall, NotFoundError, type ExecutionStep } from '@guildhall/sdk'
import { createClient } from '@guildhall/sdk/core'
import { Executions } from '@guildhall/sdk/executions'
import { begin } from '@guildhall/sdk/oauth'
import { fakeFetch, answers } from '@guildhall/sdk/testing'
import { listWorkspaces } from '@guildhall/sdk/workspaces'

const guild = new Guildhall({ baseUrl: 'https://guild.example', apiKey: 'k', fetch: globalThis.fetch })
export const executions = new Executions(createClient())
export async function work(signal: AbortSignal): Promise<string> {
  const run = await guild.skills.run('a', { input: 'b' }, { signal })
  for await (const event of run.events()) look(event)
  for await (const one of guild.runs.list({ status: 'failed' })) one.runId.slice(1)
  const response: Response = await guild.artifacts.content('x')
  return response.text()
}
function look(event: ExecutionStep): void {
  if (event.known && event.type === 'execution.result') event.payload.tokenUsage.inputTokens.toFixed()
}
export const isGone = (error: unknown) => NotFoundError.is(error) && error.status
export { begin }
export const fake = fakeFetch(answers(listWorkspaces, () => []))
`

/** Whose types say what a Response and a signal are. */
const surroundings = {
  dom: { lib: ['es2022', 'dom', 'dom.iterable'], types: [] as string[] },
  node: { lib: ['es2022'], types: ['@types/node'] },
  workers: { lib: ['es2022'], types: ['@cloudflare/workers-types'] },
  bun: { lib: ['es2022'], types: ['bun-types'] },
}

describe.concurrent('its types', () => {
  test.each(Object.entries(surroundings))(
    'fit where %s says what the platform is',
    async (name, options) => {
      const folder = join(installed.folder, 'types', name)
      mkdirSync(folder, { recursive: true })
      writeFileSync(join(folder, 'fixture.ts'), fixture)
      const { types, lib } = options
      const compilerOptions = {
        ...{ strict: true, noEmit: true, skipLibCheck: false, module: 'nodenext', target: 'es2022', lib },
        types: types.map((one) => (one === '@types/node' ? rootTypes : runtimeAt(one))),
      }
      writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions }))
      const said = await run(process.execPath, [tsc, '-p', folder]).catch(({ stdout }) => ({ stdout }))
      expect(said.stdout).toBe('')
    },
    60_000,
  )
})

const root = join(import.meta.dirname, '../../../../node_modules')
const rootTypes = join(root, '@types/node')
/** Two packages here bring a program of this name. */
const tsc = join(root, 'typescript/bin/tsc')

const filesIn = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) =>
    statSync(join(folder, name)).isFile(),
  )
