import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer, type Server } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type CommandResult, createSandboxDriver, type SandboxDriver } from '#machinery/sandbox/sandbox.ts'
import { tell } from '../../../../../test/support/proof.ts'
import { kinds, makeConfig, removeConfig, smallLimits } from './support.ts'

interface Probe {
  name: string
  /** Tried on the host too, where it has to get out: what does no harm there and needs nothing special of it. */
  opensOnHost?: true
  /** What gVisor lets a skill do to gVisor, which is not the host. */
  gvisorImitates?: true
  /** With gVisor the first process of a sandbox can be ended from within, and the sandbox with it. */
  gvisorMayEnd?: true
  /** Being ended counts as held; every other probe has to say so itself. */
  mayBeEnded?: true
}

const probes: Probe[] = [
  { name: 'host_file', opensOnHost: true },
  { name: 'host_accounts', opensOnHost: true },
  { name: 'host_homes', opensOnHost: true },
  { name: 'write_programs', opensOnHost: true },
  { name: 'remount' },
  { name: 'write_skill' },
  { name: 'host_loopback', opensOnHost: true },
  { name: 'outside' },
  { name: 'metadata' },
  { name: 'host_abstract_socket', opensOnHost: true },
  { name: 'vsock' },
  { name: 'raw_socket', opensOnHost: true },
  { name: 'packet_socket', opensOnHost: true },
  { name: 'io_uring', gvisorImitates: true },
  { name: 'ptrace_child', opensOnHost: true, gvisorImitates: true },
  { name: 'first_process_memory' },
  { name: 'kill_first_process', gvisorMayEnd: true },
  { name: 'limit_first_process', gvisorImitates: true },
  { name: 'user_namespace', opensOnHost: true, gvisorImitates: true },
  { name: 'user_namespace_by_clone', opensOnHost: true, gvisorImitates: true },
  { name: 'enter_namespace' },
  { name: 'keyring' },
  { name: 'bpf' },
  { name: 'foreign_calls', mayBeEnded: true },
  { name: 'device_node' },
  { name: 'device_files', opensOnHost: true, gvisorImitates: true },
  { name: 'host_processes', opensOnHost: true },
  { name: 'signal_host', opensOnHost: true },
  { name: 'kernel_settings', opensOnHost: true },
  { name: 'sysrq' },
  { name: 'environment', opensOnHost: true },
  { name: 'first_environment' },
  { name: 'inherited_descriptors' },
  { name: 'setuid_program', opensOnHost: true },
  { name: 'become_root', opensOnHost: true },
  { name: 'cgroup_files', opensOnHost: true },
  { name: 'fork_bomb', mayBeEnded: true },
  { name: 'memory', mayBeEnded: true },
  { name: 'disk' },
  { name: 'temporary' },
  { name: 'shared_memory' },
  { name: 'processor', mayBeEnded: true },
]

const program = readFileSync(join(import.meta.dirname, 'probes.py'))
const secret = `guild-canary-${process.pid}`
const configs = kinds.map((kind) => ({ kind, config: makeConfig(kind) }))
const home = configs[0]?.config.directory ?? ''
const bystander = spawn('sleep', ['600'], { argv0: `bystander-${secret}` })
let servers: Server[]
let host: string

beforeAll(async () => {
  writeFileSync(join(home, 'canary'), secret)
  process.env['GUILD_CANARY'] = secret
  const abstract = `\0guildhall-${process.pid}`
  const greet = () => createServer((socket) => socket.end(secret))
  const loopback = greet().listen(0, '127.0.0.1')
  servers = [loopback, greet().listen(abstract)]
  await Promise.all(servers.map((server) => once(server, 'listening')))
  host = JSON.stringify({
    file: join(home, 'canary'),
    port: (loopback.address() as AddressInfo).port,
    abstract: abstract.slice(1),
    pid: bystander.pid,
    marker: `bystander-${secret}`,
    disk: rootDisk(),
    secret,
  })
})

afterAll(() => {
  bystander.kill('SIGKILL')
  for (const server of servers) server.close()
  for (const { config } of configs) removeConfig(config)
  delete process.env['GUILD_CANARY']
})

/** Major and minor number of the disk that `/` is on. */
function rootDisk(): number[] {
  const root = readFileSync('/proc/self/mountinfo', 'utf8')
    .split('\n')
    .find((line) => line.split(' ')[4] === '/')
  return (root?.split(' ')[2] ?? '').split(':').map(Number)
}

/** What each probe said, in one sandbox for as long as it holds: after an attack it must still be of use. */
async function tryInside(driver: SandboxDriver): Promise<{ probe: Probe; said: string }[]> {
  const open = () =>
    driver.create({
      id: `escape-${driver.name}`,
      skillFiles: [{ path: 'probes.py', bytes: program, executable: false }],
      limits: smallLimits,
      env: {},
    })
  const results: { probe: Probe; said: string }[] = []
  let sandbox = await open()
  for (const probe of probes) {
    const shell = `python3 /skill/probes.py ${probe.name} '${host}'; rm -f /tmp/filler /dev/shm/filler filler`
    const said = await sandbox
      .run({ shell, timeoutMs: 200_000, maxOutputBytes: 10_000 })
      .then(describe, (error: Error) => `ended with its sandbox: ${error.message}`)
    results.push({ probe, said })
    if (said.startsWith('held')) continue
    expect(await sandbox.destroy()).toBe(true)
    sandbox = await open()
  }
  expect(await sandbox.destroy()).toBe(true)
  return results
}

function describe(result: CommandResult): string {
  if (result.outOfMemory) return 'ended: out of memory'
  if (result.timedOut) return 'ended: its CPU time was used up'
  return (
    result.stdout.trim() ||
    `ended: ${result.stderr.includes('Bad system call') ? 'bad system call' : result.stderr}`
  )
}

function hasHeld(kind: string, { probe, said }: { probe: Probe; said: string }): boolean {
  if (said.startsWith('held')) return true
  if (said.startsWith('ended'))
    return probe.mayBeEnded === true || (kind === 'runsc' && probe.gvisorMayEnd === true)
  return kind === 'runsc' && probe.gvisorImitates === true
}

test('the probes get out where nothing holds them', async () => {
  const shut: string[] = []
  for (const { name } of probes.filter((probe) => probe.opensOnHost)) {
    const args = [join(import.meta.dirname, 'probes.py'), name, host]
    const { stdout } = await promisify(execFile)('/usr/bin/python3', args)
    if (!stdout.startsWith('open')) shut.push(`${name}: ${stdout.trim()}`)
  }
  expect(shut).toEqual([])
})

for (const { kind, config } of configs) {
  test(`nothing gets out of ${kind}`, { timeout: 240_000 }, async () => {
    const driver = createSandboxDriver(config)
    await driver.check()
    const results = await tryInside(driver)
    const open = results.filter((result) => !hasHeld(kind, result))
    tell(`${kind}: ${results.length - open.length} of ${results.length} ways out were shut`)
    expect(open).toEqual([])
    expect(bystander.exitCode ?? bystander.signalCode).toBeNull()
  })
}
