import { availableParallelism } from 'node:os'
import { FairPlaces } from '#platform/fair-places.ts'
import type { Evaluated, Evaluation } from './evaluation.ts'
import { type EvaluatorProcess, startEvaluator } from './evaluator-process.ts'
import { walledCommand } from './evaluator-walls.ts'

/** More than the processors, so that a workspace that keeps its share of places busy leaves some to the others. */
const placesAtOnce = Math.max(4, availableParallelism() * 2)
const placesPerWorkspace = placesAtOnce / 2
/** Started ahead, so that an evaluation need not wait for a start. */
const spares = 4
const maxDataChars = 10_485_760
const maxResultChars = 1_000_000
/** A character is up to three bytes, or six where it is escaped; the result is escaped once more on its way. */
const maxAnswerBytes = maxResultChars * 12
/** For the answer to travel, before the process is taken for stuck. */
const graceMs = 500

interface EvaluationInput extends Pick<Evaluation, 'expression' | 'data'> {
  readonly workspaceId: string
}

export interface Evaluators {
  evaluate(input: EvaluationInput, signal: AbortSignal): Promise<unknown>
  /** Throws with what to do when this host cannot keep expressions apart. */
  check(): Promise<void>
}

/**
 * Evaluates JSONata apart from this process, and every expression apart from every other: a process that has run one
 * is ended, and nothing of it is left for the next. What loops is killed, what eats memory dies alone. Nothing is
 * started before the first is wanted.
 */
export function openEvaluators(timeoutMs: number): Evaluators {
  const places = new FairPlaces(placesAtOnce, placesPerWorkspace)
  const cpuSeconds = Math.ceil((timeoutMs + graceMs) / 1000) * 2 + 2
  const fresh: Promise<EvaluatorProcess>[] = []
  let command: ReturnType<typeof walledCommand> | undefined

  const start = async () => {
    command ??= walledCommand(cpuSeconds)
    return startEvaluator(await command)
  }
  const startAhead = () => {
    while (fresh.length < spares) {
      const starting = start()
      // Whoever takes it starts another one and is told why that fails.
      starting.catch(() => {})
      fresh.push(starting)
    }
  }
  const take = async (): Promise<EvaluatorProcess> => {
    const spare = await fresh.shift()?.catch(() => undefined)
    return spare?.alive ? spare : start()
  }

  const evaluate = async ({ workspaceId, expression, data }: EvaluationInput, signal: AbortSignal) => {
    const request = JSON.stringify({ expression, data, timeoutMs, maxChars: maxResultChars })
    if (request.length > maxDataChars) throw new Error(`The data has more than ${maxDataChars} characters.`)
    const leave = await places.take(workspaceId, signal)
    try {
      const late = `The expression takes more than ${timeoutMs} ms.`
      const bounds = { withinMs: timeoutMs + graceMs, late, maxBytes: maxAnswerBytes, signal }
      const answer = (await take()).ask(request, bounds)
      // Only now: starting takes time that this one would wait for.
      startAhead()
      const evaluated: Evaluated = JSON.parse(await answer)
      if ('problem' in evaluated) throw new Error(`The expression fails: ${evaluated.problem}.`)
      return JSON.parse(evaluated.text)
    } finally {
      leave()
    }
  }

  return {
    evaluate,
    check: async () => {
      await evaluate({ workspaceId: '', expression: '1 + 1', data: null }, AbortSignal.timeout(60_000))
    },
  }
}
