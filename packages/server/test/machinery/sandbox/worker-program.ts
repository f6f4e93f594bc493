import { createSandboxDriver, type SandboxConfig } from '#machinery/sandbox/sandbox.ts'
import { smallLimits, stubbornTree } from './support.ts'

// A worker of its own, to be killed or to be run as somebody else: `worker-program.ts <config> check | hold <id>`.
const [, , configText = '', task, id = ''] = process.argv
const driver = createSandboxDriver(JSON.parse(configText) as SandboxConfig)

if (task === 'check') {
  await driver.check().then(
    () => console.log('protected'),
    (error: Error) => console.log(error.message),
  )
} else {
  const sandbox = await driver.create({ id, skillFiles: [], limits: smallLimits, env: {} })
  await sandbox.run({ shell: stubbornTree, timeoutMs: 600_000, maxOutputBytes: 1000 })
}
