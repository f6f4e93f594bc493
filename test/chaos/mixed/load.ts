import { setTimeout as delay } from 'node:timers/promises'
import type { Reading } from '../execution-history.ts'
import type { Operation, Sort } from './history.ts'
import type { Lane } from './lane.ts'
import { launchOf, operate, readAlong } from './operations.ts'

/** How often each sort is chosen, beside the others. */
const weights: Readonly<Record<Exclude<Sort, 'stream'>, number>> = {
  read: 30,
  start: 10,
  prepare: 5,
  post: 6,
  cancel: 4,
  rerun: 3,
  launch: 16,
  resume: 6,
  'cancel-run': 3,
  unqueue: 2,
  'make-key': 3,
  'use-key': 4,
  'revoke-key': 3,
  'try-revoked': 3,
  ask: 3,
  decide: 4,
  artifact: 4,
  install: 4,
}
const weighted = Object.entries(weights) as [Exclude<Sort, 'stream'>, number][]
const allWeights = weighted.reduce((sum, [, weight]) => sum + weight, 0)
/** Of accepted starts, how many have somebody read along. */
const readShare = 0.3

export interface Load {
  readonly operations: Operation[]
  readonly readings: Map<string, Reading[]>
  /** Much at once, so that a fault that follows meets it half done. */
  burst(aim: 'runs' | 'starts'): void
  /** Begins nothing more, and waits for what is under way. */
  stop(): Promise<void>
}

/** Has every lane do one thing after the other, all together so many a second, until told to stop. */
export function startLoad(lanes: readonly Lane[], perSecond: number, random: () => number): Load {
  const operations: Operation[] = []
  const readings = new Map<string, Reading[]>()
  const underWay = new Set<Promise<unknown>>()
  let isOver = false
  let nextAt = performance.now()

  const track = (work: Promise<unknown>) => {
    underWay.add(work)
    void work.finally(() => underWay.delete(work))
  }
  const note = (lane: Lane, operation: Operation) => {
    operations.push(operation)
    const executionId = operation.attempts.at(-1)?.told
    const isStart = operation.sort === 'start' && operation.succeeded
    if (isStart && executionId && random() < readShare) track(follow(lane, executionId))
  }
  const follow = async (lane: Lane, executionId: string) => {
    const { operation, reading } = await readAlong(lane, executionId)
    operations.push(operation)
    if (reading) readings.set(executionId, [...(readings.get(executionId) ?? []), reading])
  }
  const turn = async () => {
    nextAt = Math.max(nextAt + 1000 / perSecond, performance.now())
    await delay(Math.max(0, nextAt - performance.now()))
  }
  const go = async (lane: Lane) => {
    while (!isOver) {
      await turn()
      if (isOver) return
      const wanted = lane.long.length > 0 && random() < 0.5 ? 'cancel' : choose(random)
      const operation = await (operate(lane, wanted, random) ?? operate(lane, 'read', random))
      if (operation) note(lane, operation)
    }
  }
  const going = lanes.map(go)
  return {
    operations,
    readings,
    burst: (aim) => {
      for (const lane of lanes) {
        const begun =
          aim === 'starts'
            ? [operate(lane, 'start', random), operate(lane, 'post', random)]
            : (['ask', 'line', 'nap'] as const).map((kind) => operate(lane, 'launch', random, launchOf(kind)))
        for (const work of begun) if (work) track(work.then((operation) => note(lane, operation)))
      }
    },
    stop: async () => {
      isOver = true
      await Promise.all(going)
      while (underWay.size > 0 || lanes.some(({ long }) => long.length > 0)) {
        for (const lane of lanes) {
          const operation = await operate(lane, 'cancel', random)
          if (operation) note(lane, operation)
        }
        await Promise.race([...underWay, delay(200)])
      }
    },
  }
}

function choose(random: () => number): Exclude<Sort, 'stream'> {
  let left = random() * allWeights
  for (const [sort, weight] of weighted) {
    left -= weight
    if (left < 0) return sort
  }
  return 'read'
}
