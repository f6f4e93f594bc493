import { expect, test } from 'vitest'
import { findMixedViolations, type MixedHistory } from './check.ts'
import {
  at,
  call,
  faults,
  seen,
  state,
  told,
  withExecution,
  withOperation,
  withRun,
  withSeen,
  withState,
} from './good-history.ts'
import type { FaultRecord } from './history.ts'

test('what a revoked key had running and nobody stopped may end by itself, and a paused step be done', () => {
  const revoked = withOperation('op-l0-16', { kind: 'false' })
  const runs = state.runs.map((one) => (one.runId === 'run_5' ? { ...one, endedAt: at(30) } : one))
  const pause = { ...faults[0], kind: 'worker-pause', startedAt: at(8), endedAt: at(35) } as FaultRecord
  const calls = [{ ...call('s1', 36), runId: 'run_5' }]
  const history = {
    ...revoked,
    faults: [pause],
    planned: ['worker-pause'],
    seen: { ...seen, calls, state: { ...state, runs } },
  }
  expect(findMixedViolations(history).filter((line) => line.includes('run_5'))).toEqual([])
})

test.each<[string, MixedHistory, RegExp]>([
  [
    'a revoked key that lives',
    withState({ keys: [{ id: 5, label: 'op-l0-10', revokedAt: null }] }),
    /the key 5 was revoked and lives/,
  ],
  [
    'a launch by a revoked key',
    withRun('run_5', { launchedAt: at(20) }),
    /run_5: launched by the key 5 after/,
  ],
  [
    'a start by a revoked key',
    withExecution('exec_1', { keyId: 5, createdAt: at(8), startedAt: at(20) }),
    /exec_1: started by the key 5 after/,
  ],
  [
    'a revoked key that is served',
    withOperation('op-l0-17', { attempts: told('run_5') }),
    /op-l0-17: the key 5 was served/,
  ],
  [
    'a run that its key did not stop',
    withRun('run_5', { endedAt: at(20) }),
    /run_5: went on after it was stopped/,
  ],
  [
    'a run that never ended with its key',
    withRun('run_5', { status: 'suspended', endedAt: null }),
    /run_5: went on after it was stopped/,
  ],
  [
    'an execution that its key did not stop',
    withExecution('exec_1', { keyId: 5, endedAt: at(20) }),
    /exec_1: went on after it was stopped/,
  ],
  [
    'a step of a run whose key was revoked',
    withSeen({ calls: [{ ...call('s1', 30), runId: 'run_5' }] }),
    /run_5: began its step s1 after its key was revoked/,
  ],
])('finds %s', (_what, history, violation) => {
  expect(findMixedViolations(history).join('\n')).toMatch(violation)
})
