import { expect, test } from 'vitest'
import { findMixedViolations, type MixedHistory } from './check.ts'
import {
  at,
  attempt,
  call,
  events,
  execution,
  executions,
  failed,
  faults,
  frame,
  frames,
  good,
  log,
  operation,
  operations,
  run,
  seen,
  state,
  told,
  with500,
  withExecution,
  withLog,
  withOperation,
  withRun,
  withSeen,
  withState,
} from './good-history.ts'
import type { FaultRecord } from './history.ts'

test('what can have happened is left alone', () => {
  expect(findMixedViolations(good)).toEqual([])
})

test.each<[string, MixedHistory, RegExp]>([
  // Effects
  [
    'one key, two executions',
    withState({ executions: [...executions, execution('exec_9', 'op-l0-1')] }),
    /one key, and there are exec_1 and exec_9/,
  ],
  [
    'one key, two runs',
    withState({ runs: [...state.runs, run('run_9', 'line', 'op-l0-5')] }),
    /one key, and there are run_1 and run_9/,
  ],
  [
    'one key, two keys',
    withState({ keys: [...state.keys, { id: 6, label: 'op-l0-10', revokedAt: null }] }),
    /one key, and there are 5 and 6/,
  ],
  [
    'one key, two artifacts',
    withState({ artifacts: [...state.artifacts, { id: 'art_2', name: 'op-l0-11' }] }),
    /there are art_1 and art_2/,
  ],
  [
    'one question of an agent twice',
    withState({ requests: [...state.requests, { id: 'req_2', reason: 'op-l0-12', status: 'pending' }] }),
    /there are req_1 and req_2/,
  ],
  [
    'two answers for one key',
    withOperation('op-l0-1', { attempts: [...told('exec_1'), ...told('exec_3')] }),
    /the answers name exec_1 and exec_3/,
  ],
  [
    'an acknowledged start that is not there',
    withOperation('op-l0-2', { attempts: told('exec_8') }),
    /exec_8 was acknowledged and is not there/,
  ],
  [
    'an acknowledged start that came to nothing',
    withExecution('exec_1', { ...failed, errorCode: 'EXECUTION_FAILED', costMilliDs: 0, workerPid: 0 }),
    /exec_1 was acknowledged and is not there/,
  ],
  [
    'an acknowledged launch that is void',
    withRun('run_1', { status: 'void' }),
    /run_1 was acknowledged and is not there/,
  ],
  [
    'a start that was refused and ran',
    withOperation('op-l0-3', with500),
    /refused for certain \(nothing was charged\) and there is exec_3/,
  ],
  [
    'a launch that was refused and ran',
    withOperation('op-l0-5', { attempts: [attempt({ status: 409 })] }),
    /refused for certain .* and there is run_1/,
  ],
  [
    'a message that was told twice',
    withLog('exec_1', events('user.message', 'user.message', 'session.status_idle')),
    /exec_1 was told 2 times/,
  ],
  [
    'a message that is gone',
    withLog('exec_1', events('session.status_running', 'session.status_idle')),
    /no word of it/,
  ],
  [
    'a message that was refused and worked on',
    withOperation('op-l0-21', with500),
    /was refused for certain, and exec_1 is completed/,
  ],
  [
    'a canceled execution that completed',
    withExecution('exec_2', { status: 'completed', stopReason: 'end_turn' }),
    /exec_2 was canceled and is completed/,
  ],
  [
    'a canceled run that succeeded',
    withRun('run_4', { status: 'success', result: { operation: 'op-l0-9' } }),
    /run_4 was canceled and is success/,
  ],
  [
    'a decision that went the other way',
    withState({ requests: [{ id: 'req_1', reason: 'op-l0-12', status: 'denied' }] }),
    /req_1 was granted and is denied/,
  ],
  [
    'an installed workflow that is gone',
    withState({ workflows: [] }),
    /install op-l0-18: was acknowledged and is not there/,
  ],
  [
    'an installed skill that is there twice',
    withState({ skillVersions: [...state.skillVersions, ...state.skillVersions] }),
    /2 versions of art_1/,
  ],
  [
    'what was acknowledged and is not found',
    withOperation('op-l0-14', { attempts: [attempt({ status: 404 })] }),
    /exec_1 was acknowledged and not found/,
  ],
  [
    'an end that is taken back',
    {
      ...good,
      operations: [
        ...operations,
        operation('read', 'op-l0-30', {
          target: 'exec_1',
          attempts: told('working', { sentAt: at(7), answeredAt: at(8) }),
        }),
      ],
    },
    /was seen completed and later working/,
  ],
  // Executions
  [
    'an execution that ended late',
    withExecution('exec_3', { endedAt: at(70) }),
    /exec_3: ended only 68 s after the last fault/,
  ],
  ['a run that ended late', withRun('run_1', { endedAt: at(70) }), /run_1: ended only 68 s after the last/],
  [
    'an execution of a step that no worker took',
    withExecution('exec_3', { errorCode: 'EXECUTION_FAILED', costMilliDs: 0, runId: 'run_1' }),
    /exec_3: failed with EXECUTION_FAILED/,
  ],
  [
    'an execution that never ends',
    withExecution('exec_1', { status: 'working', endedAt: null }),
    /exec_1: is still working/,
  ],
  [
    'one that waits for the slot for ever',
    withExecution('exec_4', { queued: true }),
    /exec_4: is still queued/,
  ],
  [
    'one that was lost while its worker lived',
    { ...good, faults: [{ ...faults[0], pids: [78] } as FaultRecord] },
    /exec_3: failed with SANDBOX_LOST/,
  ],
  [
    'one that is lost in a pause shorter than its lease',
    {
      ...good,
      planned: ['worker-pause-10'],
      faults: [{ ...faults[0], kind: 'worker-pause-10', endedAt: at(12) } as FaultRecord],
    },
    /exec_3: failed with SANDBOX_LOST, and what it met was worker-pause-10/,
  ],
  [
    'work that is lost because storage was full',
    {
      ...good,
      planned: ['storage-full'],
      faults: [{ ...faults[0], kind: 'storage-full', pids: [] } as FaultRecord],
    },
    /exec_3: failed with SANDBOX_LOST, and what it met was storage-full/,
  ],
  [
    'an accepted one that no worker took',
    withExecution('exec_3', { errorCode: 'EXECUTION_FAILED' }),
    /exec_3: failed with EXECUTION_FAILED/,
  ],
  [
    'one that nobody canceled',
    withExecution('exec_3', { errorCode: null, stopReason: 'interrupt' }),
    /exec_3: failed with interrupt/,
  ],
  [
    'a gap in a log',
    withLog('exec_3', [...log.slice(0, 1), ...log.slice(2)]),
    /exec_3: event 2 has the number 3/,
  ],
  [
    'a log with two ends',
    withLog('exec_3', [...log, { sequence: 4, type: 'session.status_idle' }]),
    /2 events say that it ended/,
  ],
  [
    'a log that goes on after its end',
    withLog('exec_3', [...log, { sequence: 4, type: 'agent.message' }]),
    /the last event is agent.message/,
  ],
  [
    'a reader who was told something else',
    withSeen({
      readings: new Map([
        [
          'exec_1',
          [
            { reader: 'one', frames, cuts: 0 },
            { reader: 'two', frames: frames.with(1, frame(2, 'agent.info')), cuts: 0 },
          ],
        ],
      ]),
    }),
    /two saw another event 2 than one/,
  ],
  [
    'readers who were told less than is kept',
    withSeen({ readings: new Map([['exec_1', [{ reader: 'one', frames: frames.slice(0, 2), cuts: 0 }]]]) }),
    /one was told 2 events, and 3 are kept/,
  ],
  [
    'a slot that is held by what has ended',
    withState({ slots: [{ workspaceId: 'w1', executionId: 'exec_1' }] }),
    /slot of w1 is held by exec_1/,
  ],
  [
    'work without a slot',
    withExecution('exec_1', { status: 'working', endedAt: null }),
    /exec_1: works without a slot/,
  ],
  // Money
  [
    'a ledger that does not sum to zero',
    withState({ accounts: [{ userId: 'ada', available: 911, reserved: 0, spent: 90 }] }),
    /the ledger sums to 1/,
  ],
  [
    'an account that is not what its entries say',
    withState({ entries: state.entries.slice(0, -1) }),
    /ada has 910 available and entries for 440/,
  ],
  [
    'an account below zero',
    withState({ accounts: [{ userId: 'ada', available: -1, reserved: 0, spent: 90 }] }),
    /account below zero/,
  ],
  [
    'a reservation that is open after the end',
    withState({
      reservations: state.reservations.with(0, {
        executionId: 'exec_1',
        amountMilliDs: 500,
        chargedMilliDs: null,
      }),
    }),
    /exec_1: its reservation is open/,
  ],
  [
    'a start for which nothing was set aside',
    withState({ reservations: state.reservations.slice(1) }),
    /exec_1: started, and nothing was ever set aside/,
  ],
  [
    'a charge that is not the cost',
    withExecution('exec_1', { costMilliDs: 40 }),
    /exec_1: charged 30 instead of 40/,
  ],
  // Runs
  [
    'a run that is stuck',
    withRun('run_1', { status: 'running', result: null }),
    /run_1 \(line\): is still running/,
  ],
  [
    'a place that leaked at a question',
    withRun('run_3', { advancing: true }),
    /run_3 \(ask\): is suspended and still has a place/,
  ],
  [
    'a place that leaked at the end',
    withRun('run_1', { advancing: true }),
    /run_1 \(line\): is success and still has a place/,
  ],
  ['an ended run in the queue', withRun('run_1', { queued: true }), /still waits for a place/],
  [
    'a run that waits and asks nobody',
    withState({ openQuestions: [] }),
    /run_3 \(ask\): waits for an answer, and nobody is asked/,
  ],
  [
    'a question of a run that ended',
    withState({ openQuestions: ['run_3', 'run_1'] }),
    /run_1 \(line\): is success, and somebody is still asked/,
  ],
  [
    'a run that failed by itself',
    withRun('run_1', { status: 'failed', error: { code: 'STEP_FAILED' } }),
    /run_1 \(line\): failed: .*STEP_FAILED/,
  ],
  ['a wrong result', withRun('run_1', { result: {} }), /run_1 \(line\): gave \{\}/],
  [
    'a recorded step that ran again',
    withSeen({ calls: [...seen.calls, call('s1', 40)] }),
    /run_1:s1:0:0:0: recorded, and done again/,
  ],
  [
    'a refused answer that counts',
    withRun('run_2', { result: { answer: 'op-l0-7/0' } }),
    /took the answer op-l0-7\/0, which was refused/,
  ],
  [
    'another answer than the acknowledged one',
    withRun('run_2', { result: { answer: 'mine' } }),
    /took the answer mine, while op-l0-7\/1 was acknowledged/,
  ],
  [
    'two acknowledged answers',
    withOperation('op-l0-7', { attempts: [attempt({ said: 'op-l0-7/0' }), attempt({ said: 'op-l0-7/1' })] }),
    /2 answers to one question/,
  ],
  [
    'an acknowledged answer that did not arrive',
    withOperation('op-l0-7', { target: 'run_3', attempts: [attempt({ said: 'op-l0-7/0' })] }),
    /run_3 \(ask\): was answered, and waits/,
  ],
  // What is left, and what the faults did
  ['a process that was left behind', withSeen({ orphans: ['the evaluator 9 has no worker'] }), /evaluator 9/],
  [
    'a call that the engine still drives',
    withSeen({ driven: ['the engine still drives StepRunner'] }),
    /still drives StepRunner/,
  ],
  [
    'content that is gone',
    withSeen({ lostContent: ['artifact op-l0-11: art_1 was acknowledged and answers 404'] }),
    /art_1 was acknowledged and answers 404/,
  ],
  [
    'a fault that was not fired',
    { ...good, planned: ['worker-kill', 'worker-kill'] },
    /worker-kill was planned and never fired/,
  ],
  [
    'a stack that does not recover',
    { ...good, faults: [{ ...faults[0], recoveryMs: { run: null } } as FaultRecord] },
    /after worker-kill \(\) no run succeeded/,
  ],
  [
    'a load that mostly failed',
    { ...good, operations: operations.map((one) => ({ ...one, succeeded: false })) },
    /only 0.0 % of the operations succeeded/,
  ],
])('finds %s', (_what, history, violation) => {
  expect(findMixedViolations(history).join('\n')).toMatch(violation)
})
