import { existsSync } from 'node:fs'
import { defineConfig } from 'vitest/config'

/**
 * unit: pure files, beside their source. server: the server's parts against real PostgreSQL, Redis and Restate.
 * counted: what requests have the server's code do.
 * conformance: the specification over HTTP against a running stack. system: whole stacks, with faults and races.
 * sdk: the library against a stack of two API processes, through connections that break.
 * cli: the program guild, run as a process, in a real terminal too, against a stack.
 * e2e: a real browser against a whole stack. catalog: the skills that ship with the marketplace, run for real.
 * peers: the workflow language against another implementation, where that is installed (`npm run test:peers`).
 */

/** A proof runs the same files at their full size, and those that have no small form. */
const kind = process.env['PROOF'] === '1' ? '{test,proof}' : 'test'
/**
 * Nothing is expected within a second, the gate is told what each file does and costs, and a failure says what it saw:
 * `[ Array(1) ]` in a log cannot be looked into afterwards.
 */
const common = {
  expect: { poll: { timeout: 20_000 } },
  chaiConfig: { truncateThreshold: 2000 },
  setupFiles: ['scripts/gate/in-worker.ts'],
}
const peers = existsSync('bench/peers/node_modules')
  ? [{ test: { ...common, name: 'peers', include: [`bench/peers/*.${kind}.ts`] } }]
  : []
/** The library as a package on other runtimes, where those are installed (`npm run test:package`). */
const withoutRuntimes = existsSync('test/runtimes/node_modules') ? [] : ['packages/sdk/test/package/**']

/** What requests have the process do, in counts. */
const counted = 'packages/server/test/house/heaviest*.test.ts'

export default defineConfig({
  test: {
    // Two cores: files of one project that start servers run one after the other.
    projects: [
      {
        test: {
          name: 'unit',
          include: [
            `packages/*/src/**/*.${kind}.ts`,
            `stack/**/*.${kind}.ts`,
            `test/{chaos,patterns}/**/*.${kind}.ts`,
            `scripts/**/*.${kind}.ts`,
          ],
          isolate: false,
          // Some count to many thousands, and in CI other projects run beside them.
          testTimeout: 60_000,
          ...common,
        },
      },
      {
        test: {
          name: 'server',
          include: [`packages/server/test/**/*.${kind}.ts`],
          exclude: [counted],
          globalSetup: ['packages/server/test/support/global-setup.ts'],
          // Each file has a database, each worker a Redis: three keep two cores busy while some wait.
          maxWorkers: 3,
          sequence: { groupOrder: 1 },
          // Loading the server took three seconds of each of its many files.
          isolate: false,
          testTimeout: 90_000,
          hookTimeout: 120_000,
          ...common,
        },
      },
      {
        test: {
          // A process of their own: in code that has run before the counting began, only calls are counted.
          name: 'counted',
          include: [counted],
          globalSetup: ['packages/server/test/support/global-setup.ts'],
          fileParallelism: false,
          testTimeout: 90_000,
          hookTimeout: 240_000,
          ...common,
        },
      },
      {
        test: {
          name: 'conformance',
          include: [`test/conformance/**/*.${kind}.ts`],
          globalSetup: ['test/conformance/support/global-setup.ts'],
          fileParallelism: false,
          isolate: false,
          testTimeout: 120_000,
          hookTimeout: 120_000,
          ...common,
        },
      },
      {
        test: {
          name: 'system',
          include: [`test/system/**/*.${kind}.ts`],
          globalSetup: ['test/system/support/global-setup.ts'],
          fileParallelism: false,
          testTimeout: 300_000,
          hookTimeout: 120_000,
          ...common,
        },
      },
      {
        test: {
          name: 'sdk',
          include: [`packages/sdk/test/**/*.${kind}.ts`],
          exclude: withoutRuntimes,
          globalSetup: ['packages/sdk/test/support/global-setup.ts'],
          fileParallelism: false,
          testTimeout: 120_000,
          hookTimeout: 120_000,
          ...common,
        },
      },
      {
        test: {
          name: 'cli',
          include: [`packages/cli/test/**/*.${kind}.ts`],
          globalSetup: ['packages/cli/test/support/global-setup.ts'],
          fileParallelism: false,
          testTimeout: 120_000,
          hookTimeout: 120_000,
          ...common,
        },
      },
      ...peers,
      {
        test: { ...common, name: 'catalog', include: [`test/catalog/**/*.${kind}.ts`], testTimeout: 120_000 },
      },
      {
        test: {
          name: 'e2e',
          include: [`test/e2e/**/*.${kind}.ts`],
          globalSetup: ['test/e2e/support/global-setup.ts'],
          fileParallelism: false,
          testTimeout: 240_000,
          hookTimeout: 240_000,
          ...common,
        },
      },
    ],
  },
})
