/** What the program's number says; a contract with scripts, to which is only added. */
export const exit = {
  done: 0,
  failed: 1,
  usage: 2,
  notFound: 3,
  notSignedIn: 4,
  notAllowed: 5,
  waits: 6,
  money: 7,
  busy: 8,
  rateLimited: 9,
  stopped: 10,
  notReached: 11,
  conflict: 12,
  notValid: 13,
  bug: 70,
  hangUp: 129,
  interrupted: 130,
  terminated: 143,
} as const

export type ExitCode = (typeof exit)[keyof typeof exit]

export const exitMeanings: Record<ExitCode, string> = {
  0: 'done; a watched run ended well',
  1: 'the run or the request failed',
  2: 'wrong usage: unknown command or flag, missing argument',
  3: 'no such thing',
  4: 'not signed in, or the wrong credential',
  5: 'not allowed: a missing scope, or a person said no',
  6: 'waits for a person: not decided in time, or a run is suspended',
  7: 'money: not enough credits, or a limit was reached',
  8: 'busy: another execution runs in this workspace',
  9: 'rate limited, after retries',
  10: 'stopped by somebody',
  11: 'the server was not reached',
  12: 'conflict: decided already, expired, or in the wrong state',
  13: 'not valid: the input, or what was checked, has problems',
  70: 'a bug in guild',
  129: 'the terminal went away; a run goes on',
  130: 'ended by ^C; a run goes on',
  143: 'ended by SIGTERM; a run goes on',
}
