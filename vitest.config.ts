import { existsSync } from 'node:fs'
import { defineConfig } from 'vitest/config'

/**
 * unit: pure files, beside their source. server: the server's parts against real PostgreSQL, Redis and Restate.
 * conformance: the specification over HTTP against a running stack. system: whole stacks, with faults and races.
 * sdk: the library against a stack of two API processes, through connections that break.
 * cli: the program guild, run as a process, in a real terminal too, against a stack.
 * e2e: a real browser against a whole stack. catalog: the skills that ship with the marketplace, run for real.
 * peers: the workflow language against another implementation, where that is installed (`npm run test:peers`).
 */
const peers = existsSync('bench/peers/node_modules')
  ? [{ test: { name: 'peers', include: ['bench/peers/*.test.ts'] } }]
  : []
/** The library as a package on other runtimes, where those are installed (`npm run test:package`). */
const withoutRuntimes = existsSync('test/runtimes/node_modules') ? [] : ['packages/sdk/test/package/**']

export default defineConfig({
  test: {
    // Two cores: files of one project that start servers run one after the other.
    projects: [
      {
        test: {
          name: 'unit',
          include: [
            'packages/*/src/**/*.test.ts',
            'stack/**/*.test.ts',
            'test/{chaos,patterns}/**/*.test.ts',
          ],
          // Some count to many thousands, and in CI other projects run beside them.
          testTimeout: 20_000,
        },
      },
      {
        test: {
          name: 'server',
          include: ['packages/server/test/**/*.test.ts'],
          globalSetup: ['packages/server/test/support/global-setup.ts'],
          fileParallelism: false,
          // Loading the server took three seconds of each of its many files.
          isolate: false,
          testTimeout: 30_000,
          hookTimeout: 60_000,
        },
      },
      {
        test: {
          name: 'conformance',
          include: ['test/conformance/**/*.test.ts'],
          globalSetup: ['test/conformance/support/global-setup.ts'],
          fileParallelism: false,
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
      {
        test: {
          name: 'system',
          include: ['test/system/**/*.test.ts'],
          fileParallelism: false,
          testTimeout: 300_000,
          hookTimeout: 60_000,
        },
      },
      {
        test: {
          name: 'sdk',
          include: ['packages/sdk/test/**/*.test.ts'],
          exclude: withoutRuntimes,
          globalSetup: ['packages/sdk/test/support/global-setup.ts'],
          fileParallelism: false,
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
      {
        test: {
          name: 'cli',
          include: ['packages/cli/test/**/*.test.ts'],
          globalSetup: ['packages/cli/test/support/global-setup.ts'],
          fileParallelism: false,
          testTimeout: 60_000,
          hookTimeout: 120_000,
        },
      },
      ...peers,
      { test: { name: 'catalog', include: ['test/catalog/**/*.test.ts'], testTimeout: 60_000 } },
      {
        test: {
          name: 'e2e',
          include: ['test/e2e/**/*.test.ts'],
          fileParallelism: false,
          testTimeout: 240_000,
          hookTimeout: 120_000,
          // What a page or a worker does next comes when two busy cores come to it.
          expect: { poll: { timeout: 20_000 } },
        },
      },
    ],
  },
})
