import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { type Authenticator, createAuthenticator } from '../../../test/support/authenticator.ts'
import type { Person } from '../../../test/support/caller.ts'
import { atSize } from '../../../test/support/sizes.ts'
import { newSkillArtifact, skillText } from '../../../test/support/skills.ts'
import { definitionOf, runsOf } from '../../../test/support/workflows.ts'
import { app, baseUrl, newHome, type Ran, run, start } from './support/guild.ts'

/** How often a whole errand is run; 20 with `AGENT_ROUNDS=20`. */
const rounds = atSize(1, 20)

interface Owner {
  person: Person
  passkey: Authenticator
}

async function newOwner(): Promise<Owner> {
  const person = await app.newPerson()
  const passkey = createAuthenticator({ origin: baseUrl.replace('127.0.0.1', 'localhost') })
  const { body } = await app.call('POST', '/api/v1/passkeys/options', { token: person.token })
  const credential = passkey.register(body.registration)
  await app.call('POST', '/api/v1/passkeys', { token: person.token, body: { credential } })
  const { id } = await newSkillArtifact(app, person, {
    'SKILL.md': skillText('csv-report', 'Sums up a file.'),
  })
  const installed = { token: person.token, body: { artifactId: id } }
  await app.call('POST', '/api/v1/skills/csv-report/install', installed)
  const question = { question: { value: 'Pay 42 to Ada?' } }
  const graph = [
    { type: 'mapping', id: 'words', mapConfig: JSON.stringify(question) },
    { type: 'tool', id: 'question', toolId: 'ask-human' },
  ]
  await runsOf(app, person).install('pay-order', definitionOf('pay-order', graph))
  return { person, passkey }
}

/** Says yes to whatever waits, with the passkey, as somebody with a phone does. */
async function approveWhatWaits({ person: { token }, passkey }: Owner): Promise<void> {
  const { body } = await app.call('GET', '/api/v1/approvals?status=pending', { token })
  for (const { id, kind } of body.items) {
    if (kind === 'permission') {
      const modes = { mode: 'session' }
      const asked = await app.call('POST', `/api/v1/approvals/${id}/challenge`, { token, body: {} })
      const device_auth = passkey.assert(asked.body.options)
      const path = `/api/v1/agents/request-permission/${id}/approve`
      await app.call('POST', path, { token, body: { ...modes, device_auth } })
    } else if (kind === 'workflow') {
      await app.call('POST', `/api/v1/approvals/${id}/approve`, {
        token,
        body: { resumeData: { answer: 'yes' } },
      })
    } else await app.call('POST', `/api/v1/approvals/${id}/approve`, { token, body: {} })
  }
}

/** Runs a line of a shell; somebody looks at their phone meanwhile. */
async function typed(home: string, owner: Owner, line: string): Promise<Ran> {
  const words = [...line.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? '')
  const started = start(home, words.slice(1), { env: { CLAUDECODE: '1' } })
  let over = false
  const ended = started.ended.finally(() => {
    over = true
  })
  while (!over) {
    await approveWhatWaits(owner)
    await new Promise((resolve) => setTimeout(resolve, 150))
  }
  return ended
}

/** What an agent that has read the page does: the lines on it, and where one is refused, what the refusal says. */
async function errand(owner: Owner): Promise<string[]> {
  const home = newHome()
  writeFileSync(join(home, 'orders.csv'), 'customer,total\nAda,42\n')
  const page = (await run(home, ['help', 'agents'])).stdout
  const lines = [...page.matchAll(/^ {5}(guild .*)$/gm)].map(([, line]) => line ?? '')
  const done: string[] = []
  let runId = ''
  for (const written of lines) {
    const line = written.replace('https://guild.example', baseUrl).replace(' RUN ', ` ${runId} `)
    let ran = await typed(home, owner, line)
    for (let tries = 0; ran.code === 5 && tries < 3; tries++) {
      const next: string = ran.error.next[0]
      const asked = await typed(home, owner, `${next.replace('…', 'Asked for by an errand')} --json`)
      expect(asked.code, `${next}: ${asked.stderr}`).toBe(0)
      done.push(next.split(' ').slice(0, 3).join(' '))
      ran = await typed(home, owner, line)
    }
    expect([0, 6], `${line}: ${ran.stderr}`).toContain(ran.code)
    done.push(
      `${line
        .split(' --')[0]
        ?.split(' "')[0]
        ?.replace(baseUrl, 'URL')
        .replace(runId || ' RUN', 'RUN')}: ${ran.code}`,
    )
    if (ran.json?.status === 'pending' && ran.json.user_code) {
      const body = { code: ran.json.user_code, scopes: ['profile:read', 'agent:list'] }
      await app.call('POST', '/api/v1/activate/confirm', { token: owner.person.token, body })
    }
    const last = ran.stdout.trim().split('\n').at(-1) ?? ''
    if (line.includes('wf launch')) runId = JSON.parse(last).runId
  }
  return done
}

describe('an agent that has read guild help agents', () => {
  test(
    `signs in, asks, runs, waits for people and asks them, ${rounds} times of ${rounds}`,
    async () => {
      const owner = await newOwner()
      for (let round = 0; round < rounds; round++) {
        const done = await errand(owner)
        expect(done).toContain('guild login URL: 0')
        expect(done).toContain('guild login: 0')
        expect(done).toContain('guild perms ask')
        expect(done).toContain('guild run csv-report: 0')
        expect(done).toContain('guild ask: 0')
        expect(done.some((line) => line.startsWith('guild wf watch RUN'))).toBe(true)
      }
    },
    60_000 + rounds * 30_000,
  )
})
