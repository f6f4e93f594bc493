import { toDs } from '@guildhall/contract'
import { findMoneyViolations, type Money } from './execution-history.ts'

/** What was seen of threads, from outside and in the records, and what is wrong with it. */
export interface ThreadHistory {
  /** Every message that was acknowledged. */
  readonly accepted: readonly {
    readonly messageId: string
    readonly runId: string
    readonly threadId: string
  }[]
  /** How many messages were sent, each under a key of its own until it was acknowledged. */
  readonly sent: number
  readonly logs: ReadonlyMap<string, readonly LoggedEvent[]>
  readonly runs: readonly RunSeen[]
  /** What each subscriber was given, as it came, and what the whole log looks like to who comes now. */
  readonly readings: readonly { readonly threadId: string; readonly frames: readonly Frame[] }[]
  readonly replays: ReadonlyMap<string, readonly Frame[]>
  /** Runs, as they are named outside, that somebody wanted to end. */
  readonly interrupted: ReadonlySet<string>
  readonly money: Omit<Money, 'executions'>
}

export interface LoggedEvent {
  readonly sequence: number
  readonly type: string
  readonly runId: string | null
  readonly payload: Readonly<Record<string, unknown>>
}

export interface RunSeen {
  readonly runId: string
  readonly threadId: string
  readonly status: string
  readonly steps: number
  readonly lastMessage: number
  readonly deliveredThrough: number
  readonly costMilliDs: number
}

export interface Frame {
  readonly id: string
  readonly data: string
}

/** Nothing lost, nothing doubled. */
export function judge(history: ThreadHistory): string[] {
  const { accepted, logs, runs, interrupted } = history
  const violations: string[] = []
  const messages = [...logs.values()].flat().filter(({ type }) => type === 'user.message')
  const byId = Map.groupBy(messages, ({ payload }) => String(payload['messageId']))
  for (const { messageId, runId } of accepted) {
    const found = byId.get(messageId) ?? []
    if (found.length !== 1) violations.push(`an acknowledged message is ${found.length} times in the log`)
    else if (`chat_${found[0]?.runId}` !== runId)
      violations.push('a message belongs to another run than was said')
  }
  if (messages.length !== history.sent)
    violations.push(`${history.sent} messages were sent and ${messages.length} are in the logs`)
  for (const [threadId, log] of logs) violations.push(...judgeLog(threadId, log))
  for (const run of runs) {
    const log = logs.get(run.threadId) ?? []
    violations.push(...judgeRun(run, log, interrupted.has(`chat_${run.runId}`)))
  }
  violations.push(...judgeReadings(history))
  violations.push(...judgeMoney(history))
  return violations
}

/** Numbers without gaps, and one run at a time. */
function judgeLog(threadId: string, log: readonly LoggedEvent[]): string[] {
  const violations: string[] = []
  if (log.some(({ sequence }, index) => sequence !== index + 1))
    violations.push(`the log of ${threadId} has gaps`)
  let active: string | null = null
  const ended = new Set<string | null>()
  for (const { type, runId } of log) {
    const isWork = type !== 'user.message'
    if (isWork && ended.has(runId)) violations.push('something follows the end of a run')
    if (type === 'run.started') {
      if (active !== null) violations.push('two runs of a thread are active at once')
      active = runId
    } else if (type === 'run.finished') {
      ended.add(runId)
      if (active === runId) active = null
    } else if (isWork && runId !== active) violations.push('a run speaks that is not active')
  }
  return violations
}

/** Ended, all that was said to it was read, and it said nothing twice. */
function judgeRun(run: RunSeen, log: readonly LoggedEvent[], mayBeCut: boolean): string[] {
  const violations: string[] = []
  const own = log.filter(({ runId }) => runId === run.runId)
  const count = (type: string) => own.filter((event) => event.type === type).length
  const isCut = mayBeCut && run.status === 'failed'
  if (run.status !== 'completed' && !isCut) violations.push(`a run ended as ${run.status}`)
  for (const type of ['run.started', 'run.finished'] as const) {
    const isNeverStarted = isCut && type === 'run.started' && count(type) === 0
    if (count(type) !== 1 && !isNeverStarted) violations.push(`a run has ${count(type)} of ${type}`)
  }
  if (run.lastMessage > run.deliveredThrough && !isCut)
    violations.push('a run ended without having read a message')
  if (count('run.cost') !== run.steps)
    violations.push(`a run of ${run.steps} steps told ${count('run.cost')}`)
  const read = own
    .filter(({ type }) => type === 'agent.message')
    .map(({ payload }) => Number(payload['readThrough']))
  if (read.some((through, index) => index > 0 && through <= (read[index - 1] ?? 0)))
    violations.push('a run answered the same twice')
  return violations
}

/** Each run was charged what it cost and what it was told to cost, and the whole ledger adds up. */
function judgeMoney({ runs, logs, money }: ThreadHistory): string[] {
  const violations: string[] = []
  const segments = Map.groupBy(money.reservations, ({ executionId }) => executionId.replace(/\.\d+$/, ''))
  for (const { runId, threadId, costMilliDs } of runs) {
    const own = segments.get(`chat_${runId}`) ?? []
    segments.delete(`chat_${runId}`)
    const charged = own.reduce((sum, { chargedMilliDs }) => sum + (chargedMilliDs ?? 0), 0)
    if (charged !== costMilliDs) violations.push(`a run cost ${costMilliDs} and ${charged} was charged`)
    const end = logs.get(threadId)?.find((event) => event.runId === runId && event.type === 'run.finished')
    const told = end?.payload['cost']
    if (end && told !== toDs(costMilliDs))
      violations.push(`a run that cost ${toDs(costMilliDs)} told ${told}`)
  }
  if (segments.size > 0) violations.push(`${segments.size} reservations are of no run`)
  const executions = money.reservations.map(({ executionId, chargedMilliDs }) => ({
    executionId,
    costMilliDs: chargedMilliDs ?? 0,
  }))
  return [...violations, ...findMoneyViolations({ ...money, executions })]
}

/** Whoever listened was given the log, in order, without gaps and to the byte. */
function judgeReadings({ readings, replays, logs }: ThreadHistory): string[] {
  const violations: string[] = []
  for (const [threadId, frames] of replays) {
    if (frames.length !== (logs.get(threadId)?.length ?? 0)) violations.push('a replay is not the whole log')
  }
  for (const { threadId, frames } of readings) {
    const whole = replays.get(threadId) ?? []
    const isEqual = frames.every(
      ({ id, data }, index) => whole[index]?.id === id && whole[index]?.data === data,
    )
    if (!isEqual) violations.push('a subscriber was given something else than the log')
    if (frames.length !== whole.length)
      violations.push(`a subscriber has ${frames.length} of ${whole.length} frames`)
  }
  return violations
}
