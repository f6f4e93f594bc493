import { matchesGlob } from 'node:path'

/** How a test says that something had not come yet, which a machine that is half taken away explains. */
const late = [
  /^(Test|Hook) timed out in/,
  /^not so after/,
  /^late: /,
  // Answered, not asked for.
  /(^|: )expected (503|\{?.*SERVICE_UNAVAILABLE.*?) to /,
  /\bgot 503\b/,
  /^[\w ]+ is not ready/,
  /Matcher did not succeed in time/,
]

export function isOfPatience({ message, cause }: { message: string; cause?: unknown }): boolean {
  const of = cause as { message?: unknown } | undefined
  const words = [message, ...(typeof of?.message === 'string' ? [of.message] : [])]
  return late.some((pattern) => words.some((word) => pattern.test(word)))
}

/** Drawn at random, and not drawn again the next time. */
export function isCounterexample(why: string): boolean {
  return /Property failed after \d+ tests/.test(why)
}

/**
 * What these files look at must hold every time: nothing is lost or done twice, nobody reads another tenant's data, the
 * ledger closes, no secret is in the open. A race that shows once in twenty runs is what they are there for, so a wrong
 * value has no second chance; one that only came late has.
 */
export const invariants = [
  'packages/server/test/house/isolation/**',
  'packages/server/test/house/{auth-matrix,secrecy,foreign-pages,audit,sdk-lost-answers}.test.ts',
  'packages/server/test/accounts/{billing-ledger,crowded-out}.test.ts',
  'packages/server/test/access/{permission-model,permissions,push-crashes,oauth-crossing}.test.ts',
  'packages/server/test/operations/{perform,spending,repeated-changes}.test.ts',
  'packages/server/test/machinery/graph/crashes.test.ts',
  'packages/server/test/machinery/sandbox/{broken-starts,ending,escape,hostile-pipes}.test.ts',
  'packages/server/test/running/{execution-money,lost-answers,receipts,run-fences,thread-attacks,thread-fences,thread-money}.test.ts',
  'packages/server/test/running/{trace-quota,trace-redaction,trace-tenants}.test.ts',
  'packages/server/test/transports/mcp-foreign.test.ts',
  'test/conformance/{activation-race,credits}.test.ts',
  'packages/cli/test/secrets.test.ts',
  'test/e2e/foreign-pages.test.ts',
  'test/system/{*races,chaos,*crashes,*faults,*spending,secrets-at-rest}.{test,proof}.ts',
  'test/system/{execution-cancel,receipts,trace-merge}.{test,proof}.ts',
]

export function looksAtInvariants(file: string): boolean {
  return invariants.some((pattern) => matchesGlob(file, pattern))
}
