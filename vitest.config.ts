import { existsSync } from 'node:fs'
import { defineConfig } from 'vitest/config'

/**
 * unit: pure files, beside their source. server: the server's parts against real PostgreSQL, Redis and Restate.
 * conformance: the specification over HTTP against a running stack. system: whole stacks, with faults and races.
 * e2e: a real browser against a whole stack. catalog: the skills that ship with the marketplace, run for real.
 * peers: the workflow language against another implementation, where that is installed (`npm run test:peers`).
 */
const peers = existsSync('bench/peers/node_modules')
  ? [{ test: { name: 'peers', include: ['bench/peers/*.test.ts'] } }]
  : []

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
        },
      },
      {
        test: {
          name: 'server',
          include: ['packages/server/test/**/*.test.ts'],
          globalSetup: ['packages/server/test/support/global-setup.ts'],
          fileParallelism: false,
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
      ...peers,
      { test: { name: 'catalog', include: ['test/catalog/**/*.test.ts'], testTimeout: 60_000 } },
      {
        test: {
          name: 'e2e',
          include: ['test/e2e/**/*.test.ts'],
          fileParallelism: false,
          testTimeout: 120_000,
          hookTimeout: 120_000,
        },
      },
    ],
  },
})
