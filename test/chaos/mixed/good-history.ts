import type { MixedHistory } from './check.ts'
import type { ExecutionState, FinalState, RunState, Seen } from './evidence.ts'
import type { Attempt, FaultRecord, Operation } from './history.ts'

/** A small history in which everything is right; each test below spoils one thing of it. */

export const at = (second: number) => 1_800_000_000_000 + second * 1000

export function attempt(changes: Partial<Attempt> = {}): Attempt {
  return { sentAt: at(0), answeredAt: at(1), status: 200, code: null, told: null, text: '', ...changes }
}

export function operation(sort: Operation['sort'], id: string, changes: Partial<Operation> = {}): Operation {
  const about = { workspaceId: 'w1', target: null, keyId: null, kind: null }
  return { id, sort, ...about, attempts: [attempt()], succeeded: true, ...changes }
}

export const told = (id: string, changes: Partial<Attempt> = {}) => [attempt({ told: id, ...changes })]
const broken = attempt({ status: null, text: 'TimeoutError' })
const refused = attempt({ status: 500, code: 'EXECUTION_FAILED', text: 'nothing was charged' })

export function execution(
  executionId: string,
  op: string,
  changes: Partial<ExecutionState> = {},
): ExecutionState {
  return {
    executionId,
    workspaceId: 'w1',
    keyId: null,
    status: 'completed',
    stopReason: 'end_turn',
    errorCode: null,
    costMilliDs: 30,
    input: `[${op}] Run this.`,
    runId: null,
    queued: false,
    createdAt: at(0),
    startedAt: at(0),
    endedAt: at(5),
    workerPid: 77,
    ...changes,
  }
}

export function run(runId: string, slug: string, op: string, changes: Partial<RunState> = {}): RunState {
  const inputs = { operation: op }
  return {
    runId,
    workspaceId: 'w1',
    slug,
    keyId: null,
    status: 'success',
    inputs: JSON.stringify(inputs),
    result: inputs,
    error: null,
    advancing: false,
    queued: false,
    launchedAt: at(0),
    endedAt: at(5),
    ...changes,
  }
}

export const events = (...types: string[]) => types.map((type, index) => ({ sequence: index + 1, type }))
export const log = events('user.message', 'session.status_running', 'session.status_idle')
export const frame = (sequence: number, type: string) =>
  `id: ${sequence}\ndata: ${JSON.stringify({ id: `evt_${sequence}`, type, sequence, payload: {} })}`
export const frames = log.map(({ sequence, type }) => frame(sequence, type))

const entries = (executionId: string, cost: number) => [
  { userId: 'ada', source: 'available', target: 'reserved', amountMilliDs: 500, executionId },
  ...(cost > 0
    ? [{ userId: 'ada', source: 'reserved', target: 'spent', amountMilliDs: cost, executionId }]
    : []),
  { userId: 'ada', source: 'reserved', target: 'available', amountMilliDs: 500 - cost, executionId },
]

export const executions = [
  execution('exec_1', 'op-l0-1'),
  execution('exec_2', 'op-l0-2', { status: 'failed', stopReason: 'interrupt' }),
  execution('exec_3', 'op-l0-3', { status: 'failed', stopReason: 'error', errorCode: 'SANDBOX_LOST' }),
  execution('exec_4', 'op-l0-4', {
    status: 'idle',
    stopReason: null,
    startedAt: null,
    endedAt: null,
    costMilliDs: 0,
  }),
]
const started = ['exec_1', 'exec_2', 'exec_3']

export const state: FinalState = {
  executions,
  runs: [
    run('run_1', 'line', 'op-l0-5'),
    run('run_2', 'ask', 'op-l0-6', { result: { answer: 'op-l0-7/1' } }),
    run('run_3', 'ask', 'op-l0-8', { status: 'suspended', result: null }),
    run('run_4', 'nap', 'op-l0-9', { status: 'canceled', result: null }),
    run('run_5', 'line', 'op-l0-15', { keyId: 5 }),
  ],
  entries: [
    { userId: 'ada', source: 'issued', target: 'available', amountMilliDs: 1000, executionId: null },
    ...started.flatMap((id) => entries(id, 30)),
  ],
  accounts: [{ userId: 'ada', available: 910, reserved: 0, spent: 90 }],
  reservations: started.map((executionId) => ({ executionId, amountMilliDs: 500, chargedMilliDs: 30 })),
  slots: [],
  openQuestions: ['run_3'],
  keys: [{ id: 5, label: 'op-l0-10', revokedAt: at(9) }],
  artifacts: [{ id: 'art_1', name: 'op-l0-11' }],
  skillVersions: [{ workspaceId: 'w1', artifactId: 'art_1' }],
  workflows: [{ workspaceId: 'w1', slug: 'op-l0-18' }],
  requests: [{ id: 'req_1', reason: 'op-l0-12', status: 'granted' }],
  logs: new Map([...started.map((id) => [id, log] as const), ['exec_4', []]]),
}

export const operations: Operation[] = [
  operation('start', 'op-l0-1', { attempts: [broken, ...told('exec_1')] }),
  operation('start', 'op-l0-2', { attempts: told('exec_2') }),
  operation('cancel', 'op-l0-20', { target: 'exec_2', attempts: told('true') }),
  operation('start', 'op-l0-3', { attempts: told('exec_3') }),
  operation('prepare', 'op-l0-4', { attempts: told('exec_4') }),
  operation('post', 'op-l0-21', { target: 'exec_1' }),
  operation('launch', 'op-l0-5', { kind: 'line', attempts: told('run_1') }),
  operation('launch', 'op-l0-6', { kind: 'ask', attempts: told('run_2') }),
  operation('resume', 'op-l0-7', {
    target: 'run_2',
    attempts: [
      attempt({ status: 500, said: 'op-l0-7/0', text: 'could not be handed over; send it again' }),
      attempt({ said: 'op-l0-7/1' }),
    ],
  }),
  operation('launch', 'op-l0-8', { kind: 'ask', attempts: told('run_3') }),
  operation('launch', 'op-l0-9', { kind: 'nap', attempts: told('run_4') }),
  operation('cancel-run', 'op-l0-22', { target: 'run_4' }),
  operation('make-key', 'op-l0-10', { attempts: told('5') }),
  operation('use-key', 'op-l0-15', { keyId: 5, kind: 'line', attempts: told('run_5') }),
  operation('revoke-key', 'op-l0-16', {
    target: '5',
    kind: 'true',
    attempts: [attempt({ sentAt: at(8), answeredAt: at(9) })],
  }),
  operation('try-revoked', 'op-l0-17', { keyId: 5, attempts: [attempt({ status: 401 })] }),
  operation('artifact', 'op-l0-11', { attempts: told('art_1') }),
  operation('install', 'op-l0-19', { kind: 'skill', target: 'art_1' }),
  operation('install', 'op-l0-18', { kind: 'workflow' }),
  operation('ask', 'op-l0-12', { attempts: told('req_1') }),
  operation('decide', 'op-l0-13', { target: 'req_1', kind: 'approve' }),
  operation('read', 'op-l0-14', { target: 'exec_1', attempts: told('completed', { answeredAt: at(6) }) }),
]

export const faults: FaultRecord[] = [
  {
    kind: 'worker-kill',
    startedAt: at(2),
    endedAt: at(2),
    pids: [77],
    executionIds: [],
    note: '',
    recoveryMs: { read: 20, run: 900 },
  },
]

export const call = (stepId: string, second: number, pid = 77) => ({
  runId: 'run_1',
  stepId,
  idempotencyKey: `run_1:${stepId}:0:0:0`,
  pid,
  at: at(second),
})

export const seen: Seen = {
  state,
  calls: [call('s1', 1), call('s1', 2), call('s2', 3)],
  readings: new Map([['exec_1', [1, 2].map((n) => ({ reader: `reader ${n}`, frames, cuts: 0 }))]]),
  lostContent: [],
  orphans: [],
  driven: [],
}

export const good: MixedHistory = { operations, faults, planned: ['worker-kill'], seen }

export const withState = (changes: Partial<FinalState>): MixedHistory => ({
  ...good,
  seen: { ...seen, state: { ...state, ...changes } },
})
export const withSeen = (changes: Partial<Seen>): MixedHistory => ({ ...good, seen: { ...seen, ...changes } })
export const withOperation = (id: string, changes: Partial<Operation>): MixedHistory => ({
  ...good,
  operations: operations.map((one) => (one.id === id ? { ...one, ...changes } : one)),
})
export const withExecution = (executionId: string, changes: Partial<ExecutionState>) =>
  withState({
    executions: executions.map((one) => (one.executionId === executionId ? { ...one, ...changes } : one)),
  })
export const withRun = (runId: string, changes: Partial<RunState>) =>
  withState({ runs: state.runs.map((one) => (one.runId === runId ? { ...one, ...changes } : one)) })
export const withLog = (executionId: string, changed: typeof log) =>
  withState({ logs: new Map([...state.logs, [executionId, changed]]) })
export const with500 = { attempts: [refused], succeeded: false }
export const failed = { status: 'failed', stopReason: 'error' }
