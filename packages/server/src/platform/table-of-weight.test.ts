import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { readClients } from './client-settings.ts'
import { readQuotas } from './quota-settings.ts'
import type { Attempt } from './sandbox-settings.ts'

const unset = ((_name: string, _read: unknown, otherwise: unknown) => otherwise) as Attempt
const table = readFileSync(join(import.meta.dirname, '../../../../SECURITY.md'), 'utf8')
const { headersMs, bodyMs, unreadMs, turns } = readClients(unset)
const quotas = readQuotas(unset)
const seconds = (ms: number) => `${ms / 1000} s`
const gigabytes = (bytes: number) => `${bytes / 1e9} GB`
const count = (n: number) => n.toLocaleString('en')

/** Operators and attackers read the table: what it says is what holds where nothing is set. */
test.each([
  `| headers | ${seconds(headersMs)} (`,
  `| a body on its way | ${seconds(bodyMs)} (`,
  `over each ${seconds(unreadMs)} (\`UNREAD_MS\`)`,
  `| ${turns.places === 8 ? 'eight' : turns.places} (\`REQUESTS_AT_A_TIME\`)`,
  `${turns.turnMs === 250 ? 'a quarter of a second' : turns.turnMs} (\`TURN_MS\`)`,
  `| ${gigabytes(quotas.artifactBytes)} and ${count(quotas.artifactFiles)} files; ${gigabytes(quotas.traceBytes)} (`,
  `| ${gigabytes(quotas.runBytes)} (\`QUOTA_RUN_BYTES\`)`,
  `| ${count(quotas.idleExecutions)} a workspace, ${quotas.idleExecutionsPerKey} of them of one key |`,
])('SECURITY says %j', (words) => {
  expect(table).toContain(words)
})
