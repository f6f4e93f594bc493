import { setTimeout as delay } from 'node:timers/promises'
import type { Operation } from './history.ts'
import type { Lane } from './lane.ts'
import { launchOf, operate } from './operations.ts'

const giveUpAfterMs = 60_000
const endStates = ['completed', 'failed', 'success', 'canceled']
const lookWithinMs = 5000

/** By its name, something that is tried over and over after a fault until it succeeds. */
const probes: Readonly<
  Record<string, (lane: Lane, note: (operation: Operation) => void) => Promise<boolean>>
> = {
  read: async (lane, note) =>
    succeeded(
      operate(lane, 'read', () => 0.9),
      note,
    ),
  write: async (lane, note) => succeeded(operate(lane, 'artifact', Math.random), note),
  execution: async (lane, note) => {
    const begun = await operate(lane, 'start', () => 0.9)
    if (begun) note(begun)
    const id = begun?.succeeded ? begun.attempts.at(-1)?.told : undefined
    return typeof id === 'string' && (await stateOf(lane, `executions/${id}/status`)) === 'completed'
  },
  run: async (lane, note) => {
    const begun = await operate(lane, 'launch', () => 0.9, launchOf('line'))
    if (begun) note(begun)
    const id = begun?.succeeded ? begun.attempts.at(-1)?.told : undefined
    return typeof id === 'string' && (await stateOf(lane, `workflows/runs/${id}`)) === 'success'
  },
}

/** How long after the end of a fault each of the probes succeeded; null for one that did not within a minute. */
export async function measureRecovery(
  lanes: Readonly<Record<string, Lane>>,
  since: number,
  note: (operation: Operation) => void,
): Promise<Record<string, number | null>> {
  const measured = Object.entries(probes).map(async ([name, probe]) => {
    const lane = lanes[name]
    if (!lane) throw new Error(`no lane for the probe ${name}`)
    while (Date.now() - since < giveUpAfterMs) {
      if (await probe(lane, note)) return [name, Date.now() - since] as const
      await delay(100)
    }
    return [name, null] as const
  })
  return Object.fromEntries(await Promise.all(measured))
}

export const probeNames = Object.keys(probes)

async function succeeded(
  work: Promise<Operation> | undefined,
  note: (operation: Operation) => void,
): Promise<boolean> {
  const operation = await work
  if (operation) note(operation)
  return operation?.succeeded ?? false
}

/** The state in which it ended, or the last one seen. */
async function stateOf(lane: Lane, path: string): Promise<string> {
  let state = ''
  for (const end = performance.now() + giveUpAfterMs; performance.now() < end; await delay(50)) {
    const signal = AbortSignal.timeout(lookWithinMs)
    const answer = await lane.app
      .call('GET', `/api/v1/${path}`, { token: lane.person.token, signal })
      .catch(() => undefined)
    state = answer?.body?.status ?? answer?.body?.run?.status ?? state
    if (endStates.includes(state)) break
  }
  return state
}
