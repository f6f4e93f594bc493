import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { expectWithin } from '../../../test/support/proof.ts'
import { app, baseUrl, newHome, program, type Ran, run, start } from './support/guild.ts'

/** Keyrings that do not answer: on a bus that says nothing, and on a real one whose secret service hangs. */

const ends: (() => void)[] = []
afterEach(() => {
  for (const end of ends.splice(0)) end()
})

async function silentBus(home: string): Promise<string> {
  const path = join(home, 'bus')
  const server = createServer((socket) => {
    socket.on('error', () => {})
    ends.push(() => socket.destroy())
  })
  server.listen(path)
  await once(server, 'listening')
  ends.push(() => server.close())
  return `unix:path=${path}`
}

/** The bus starts a service that is asked for; this one never says that it is there. */
async function hungService(home: string): Promise<string> {
  const services = join(home, 'services')
  mkdirSync(services)
  writeFileSync(
    join(services, 'org.freedesktop.secrets.service'),
    '[D-BUS Service]\nName=org.freedesktop.secrets\nExec=/bin/sleep 60\n',
  )
  const config = join(home, 'bus.conf')
  writeFileSync(
    config,
    `<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
      "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
    <busconfig><type>session</type><listen>unix:path=${join(home, 'session')}</listen>
      <servicedir>${services}</servicedir>
      <policy context="default"><allow send_destination="*" eavesdrop="true"/><allow receive_sender="*" eavesdrop="true"/><allow own="*"/></policy>
    </busconfig>`,
  )
  const bus: ChildProcess = spawn('dbus-daemon', ['--nofork', '--print-address', `--config-file=${config}`], {
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  ends.push(() => bus.kill())
  if (!bus.stdout) throw new Error('The bus says nothing')
  const [address] = await once(bus.stdout, 'data')
  return String(address).trim()
}

async function timed(work: Promise<Ran>): Promise<Ran & { ms: number }> {
  const begun = performance.now()
  return { ...(await work), ms: performance.now() - begun }
}

const begin = (home: string, env: Record<string, string>) =>
  timed(run(home, ['login', baseUrl, '--no-wait', '--json'], { env }))

test.each([
  ['a bus that says nothing', silentBus],
  ['a secret service that hangs', hungService],
])('%s costs two seconds, and the key goes into a file', async (_name, open) => {
  const home = newHome()
  const env = { GUILD_STORAGE: 'auto', DBUS_SESSION_BUS_ADDRESS: await open(home) }
  const plain = await begin(newHome(), {})
  const begun = await begin(home, env)
  expect(begun).toMatchObject({ code: 0, json: { status: 'pending' } })
  // It was tried, and no longer than it may take.
  expect(begun.ms).toBeGreaterThan(1500)
  expectWithin(begun.ms - plain.ms, 2500)
  expect(begun.stderr.indexOf('(0600)')).toBeLessThan(begun.stderr.indexOf(begun.json.user_code))

  const { token } = await app.newPerson()
  const resumed = start(home, ['login', '--resume', '--json'], { env })
  await app.call('POST', '/api/v1/activate/confirm', {
    token,
    body: { code: begun.json.user_code, access: 'full' },
  })
  expect(await resumed.ended).toMatchObject({ code: 0, json: { status: 'approved', storage: 'file' } })
  expect(statSync(join(home, '.config', 'guild', 'credentials.json')).mode & 0o777).toBe(0o600)
  expect(await run(home, ['whoami', '--json'], { env })).toMatchObject({ code: 0, json: { activated: true } })
})

test('what asks the keyring tells nothing to who types it as a command', async () => {
  const typed = spawnSync(process.execPath, [program, '__keyring'], {
    input: JSON.stringify({ verb: 'read', profile: 'default' }),
    encoding: 'utf8',
  })
  expect(typed).toMatchObject({ status: 2, stdout: '' })
})

test('a keyring that was asked for and does not answer is told before anything is asked of the server', async () => {
  const home = newHome()
  const env = { GUILD_STORAGE: 'auto', DBUS_SESSION_BUS_ADDRESS: await silentBus(home) }
  const refused = await timed(
    run(home, ['login', 'http://127.0.0.1:1', '--storage', 'keyring', '--no-wait', '--json'], { env }),
  )
  expect(refused).toMatchObject({
    code: 4,
    error: { next: expect.arrayContaining(['guild login --storage file']) },
  })
  expectWithin(refused.ms, 6000)
})
