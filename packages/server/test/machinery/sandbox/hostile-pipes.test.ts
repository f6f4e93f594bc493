import { spawn } from 'node:child_process'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { createSandboxDriver, type SandboxConfig } from '#machinery/sandbox/sandbox.ts'
import {
  kinds,
  makeConfig,
  processesOf,
  removeConfig,
  smallLimits,
  stubbornTree,
  waitUntil,
} from './support.ts'

/**
 * What a command can do to the pipes between it and the first process takes luck (it reads its own output, or in gVisor
 * the byte that wakes the first process, between two calls of that one). Here it has happened for certain: the first
 * process is run by a Python whose calls answer as they would then.
 */
const after = {
  'something is said to be there and is not': `
import select
honest, lies = select.select, [3]
def lying(readers, *rest):
    if lies[0] == 0 or honest(readers, [], [], 0)[0]:
        return honest(readers, *rest)
    lies[0] -= 1
    return readers, [], []
select.select = lying`,
  'what wakes the first process was taken away': `
import os, select
honest = select.select
def thief(readers, *rest):
    found = honest(readers, *rest)
    if readers[0] in found[0]:
        os.read(readers[0], 100)
    return found
select.select = thief`,
  'the end of a pipe is where nobody closes it': `
import os
made = os.pipe
def kept():
    reader, writer = made()
    os.dup(writer)
    return reader, writer
os.pipe = kept`,
}

/** What must not happen, and still must not leave a process behind. */
const failing = `
import select
honest = select.select
def failing(readers, *rest):
    if honest(readers[1:], [], []):
        raise OSError(5, 'no luck')
select.select = failing`

const folders: string[] = []
const configs: SandboxConfig[] = []
afterAll(() => {
  for (const config of configs) removeConfig(config)
  for (const folder of folders) rmSync(folder, { recursive: true })
})

function configOf(kind: SandboxConfig['kind'], first: string): SandboxConfig {
  // Not below /tmp, which is another one inside.
  const folder = mkdtempSync('/var/tmp/guildhall-python-')
  folders.push(folder)
  chmodSync(folder, 0o755)
  const python = join(folder, 'python')
  writeFileSync(python, `#!/usr/bin/python3 -IS\n${first}\nimport sys\nexec(sys.argv[-1])\n`)
  chmodSync(python, 0o755)
  const config = { ...makeConfig(kind), python, readOnlyPaths: [folder] }
  configs.push(config)
  return config
}

const specOf = (kind: string) => ({
  id: `pipes-${kind}-${process.pid}`,
  skillFiles: [],
  limits: smallLimits,
  env: {},
})

describe.each(kinds)('%s', (kind) => {
  const spec = specOf(kind)

  test.each(Object.entries(after))('after %s a command ends as ever', async (_, first) => {
    const sandbox = await createSandboxDriver(configOf(kind, first)).create(spec)
    const run = (shell: string, timeoutMs = 20_000) => sandbox.run({ shell, timeoutMs, maxOutputBytes: 1000 })
    try {
      const said = { exitCode: 7, stdout: 'out\n', stderr: 'no\n', timedOut: false }
      expect(await run('sleep 0.1; echo out; echo no >&2; exit 7')).toMatchObject(said)
      expect(await run('sleep 1000', 100)).toMatchObject({ signal: 'SIGKILL', timedOut: true })
    } finally {
      expect(await sandbox.destroy()).toBe(true)
    }
  })

  test('a sandbox ends with its worker while its first process is held up', async () => {
    // As long as a command reads its own output away, or by anything else.
    const config = configOf(kind, 'import select, time\nselect.select = lambda *_: time.sleep(1000)')
    const program = new URL('worker-program.ts', import.meta.url).pathname
    const worker = spawn(process.execPath, [program, JSON.stringify(config), 'hold', spec.id], {
      stdio: ['ignore', 'ignore', 'inherit'],
    })
    try {
      await waitUntil(() => processesOf(config, spec.id).size >= 11, 20_000)
    } finally {
      worker.kill('SIGKILL')
    }
    await waitUntil(() => processesOf(config, spec.id).size === 0, 5000)
    expect(await createSandboxDriver(config).sweep(async () => false)).toMatchObject({ cleared: [spec.id] })
  })
})

// Not gVisor, whose processes say nothing of how many run inside.
test.each(['bubblewrap', 'runc'] as const)(
  '%s: a first process that cannot follow a command leaves nothing of it, and is given up',
  async (kind) => {
    const spec = specOf(`${kind}-left`)
    const config = configOf(kind, failing)
    const sandbox = await createSandboxDriver(config).create(spec)
    try {
      const before = processesOf(config, spec.id).size
      const command = sandbox.run({
        shell: `${stubbornTree} & sleep 0.5; echo x; wait`,
        timeoutMs: 60_000,
        maxOutputBytes: 1000,
      })
      await expect(command).rejects.toMatchObject({ reason: 'lost' })
      await waitUntil(() => processesOf(config, spec.id).size <= before, 5000)
      await expect(sandbox.readFile('x', 1)).rejects.toMatchObject({ reason: 'lost' })
    } finally {
      expect(await sandbox.destroy()).toBe(true)
    }
  },
)
