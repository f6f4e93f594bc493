import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type SpawnedStack, spawnStack } from '../../stack/client.ts'
import { repositoryRoot } from '../../stack/spawn.ts'
import { isProof } from '../support/sizes.ts'
import { calmStack } from './support/shared-stacks.ts'

let baseUrl: string
/** A reader's stack has limits; those files share has none. */
let own: SpawnedStack | undefined

beforeAll(async () => {
  if (isProof) own = await spawnStack(['--api', '2', '--workers', '2'])
  ;({ baseUrl } = own ?? (await calmStack()))
})

afterAll(() => own?.stop())

/** Runs the lines that stand under these markers in the README, one after the other, as a reader would. */
function runReadme(...markers: readonly string[]): Promise<string> {
  const readme = readFileSync(join(repositoryRoot, 'README.md'), 'utf8')
  const scripts = markers.map((marker) => {
    const script = new RegExp(`<!-- ${marker} -->\\s*\`\`\`sh\\n([\\s\\S]*?)\`\`\``).exec(readme)?.[1]
    expect(script).toContain('curl')
    return script
  })
  return new Promise((resolve, reject) => {
    const env = { ...process.env, BASE: baseUrl }
    execFile(
      'bash',
      ['-euo', 'pipefail', '-c', scripts.join('\n')],
      { env, cwd: repositoryRoot },
      (error, stdout, stderr) =>
        error ? reject(new Error(`${error.message}\n${stdout}\n${stderr}`)) : resolve(stdout),
    )
  })
}

test('the pairing lines of the README work as they stand', async () => {
  const output = await runReadme('pairing')
  expect(output).toContain('"kind":"personal"')
  expect(output).toMatch(/revoked key gets 401/)
})

test('the permission lines of the README work as they stand', async () => {
  const output = await runReadme('permission')
  expect(output).toContain('"missing_scopes":["profile:read"]')
  expect(output).toContain('"success":true,"mode":"session"')
  expect(output).toContain('"email":"you@example.test"')
})

test('an ask from one terminal is answered from another, by the lines of the README', async () => {
  const [agent, person] = await Promise.all([runReadme('ask'), runReadme('answer')])
  expect(person).toMatch(/"question":"May I push this\?".*\n\{"success":true\}/)
  expect(person).toContain('"args":{"command":"git push origin main"}')
  expect(agent).toBe(
    'The person said: {"status":"answered","choice":"push"}\n{"success":true}\n{"status":"withdrawn"}\n',
  )
})

test('the skill lines of the README work as they stand', async () => {
  const output = await runReadme('skills')
  expect(output).toContain('"versionNumber":2')
  expect(output).toContain('"path":"SKILL.md","change":"changed"')
  expect(output).toContain('"success":true,"restoredFrom":1')
  expect(output).toMatch(
    /"versionNumber":3\s"note":"Restored from version 1"\s"active":true\s"versionNumber":2\s/,
  )
})

test('the lines of the README that run a skill work as they stand', async () => {
  const output = await runReadme('run', 'receipt')
  expect(output).toContain('"type":"session.status_idle"')
  expect(output).toContain('<svg')
  expect(output).toMatch(/"spend":\{"total":[\d.]*[1-9]/)
  expect(output).toMatch(/receipt_exec_\S+: signed by .*\n\[\{.*"via":"person"/)
})

test('the lines of the README about a hand-over work as they stand, the first agent killed', async () => {
  const output = await runReadme('handover')
  // The second one read what the first one was asked and had made, and its result has the first one's file.
  expect(output).toContain('| Draft the letter.')
  expect(output).toMatch(/^\| draft\.md at \/api\/v1\/artifacts\//m)
  expect(output).toContain('"type":"file","name":"draft.md"')
  expect(output).not.toContain('"name":"HANDOVER.md"')
  expect(output).toContain('Dear Ada,\nYours, the closer\n')
  expect(output).toMatch(/tool\.call `handover` by `closer`/)
  expect(output.indexOf('by `drafter`')).toBeLessThan(output.indexOf('`handover`'))
})

test('the lines of the README with a workflow and a human in it work as they stand', async () => {
  const output = await runReadme('workflow')
  expect(output).toContain('{"valid":true,"issues":[]}')
  expect(output).toMatch(/run is: suspended\n"action":"Pay 42 to Ada"\n/)
  expect(output).toMatch(/run is: success\n"result":\{"total":42,"approved":true\}/)
})

test('a workflow is composed by asking, waits for a person, and its end comes back, by the lines of the README', async () => {
  const output = await runReadme('compose')
  expect(output).toMatch(/^"message":"The workflow approve-payment runs as run_\S+"\n/)
  expect(output).toMatch(
    /"summary":"Workflow approve-payment waits for an answer\."\n"action":"Pay 42 to Ada"\n/,
  )
  expect(output).toMatch(
    /"summary":"Workflow approve-payment has completed\."\n"result":\{"approved":true,"note":null\}/,
  )
})
