import { rename, rm } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { build, type Rolldown } from 'vite'
import { excessOf, weigh, weighWorker } from './budgets.ts'

/**
 * Builds the app; with --check it fails when that has become too heavy for a phone. It is put in place whole, so that
 * whoever starts meanwhile reads the one before or this one.
 */
const root = fileURLToPath(new URL('.', import.meta.url))
const { values } = parseArgs({
  options: { out: { type: 'string', default: `${root}dist` }, check: { type: 'boolean', default: false } },
})
const fresh = `${values.out}.${process.pid}`
const built = (await build({
  root,
  logLevel: 'warn',
  build: { outDir: fresh, emptyOutDir: true },
})) as Rolldown.RolldownOutput
const worker = (await build({
  root,
  logLevel: 'warn',
  configFile: false,
  publicDir: false,
  build: {
    target: 'es2023',
    outDir: fresh,
    emptyOutDir: false,
    reportCompressedSize: false,
    rolldownOptions: { input: `${root}src/sw.ts`, output: { entryFileNames: 'sw.js' } },
  },
})) as Rolldown.RolldownOutput
await rm(values.out, { recursive: true, force: true })
await rename(fresh, values.out)

const weights = [...weigh(built.output), weighWorker(worker.output)]
const said = weights.map(({ name, kilobytes, budget }) => `${name} ${kilobytes} of ${budget} kB`)
console.log(`The app is built. Compressed: ${said.join(', ')}`)
const excess = excessOf(weights)
if (values.check && excess.length > 0) {
  console.error(`Too heavy: ${excess.map(({ name }) => name).join(', ')}`)
  process.exitCode = 1
}
