import type { Answer, Caller, Person } from './caller.ts'
import { until } from './processes.ts'

export interface Runs {
  install(slug: string, definition: Record<string, unknown>): Promise<void>
  launch(slug: string, inputs?: unknown): Promise<Answer>
  /** Launches, and fails unless that was accepted. */
  start(slug: string, inputs?: unknown): Promise<string>
  resume(runId: string, body: { resumeData?: unknown; stepId?: string }): Promise<Answer>
  cancel(runId: string): Promise<Answer>
  get(runId: string): Promise<Answer>
  /** The ids of all runs in a state, up to a page of them. */
  list(status: string): Promise<string[]>
  /** Waits until the run has one of the states, and gives it as it is then. */
  reaches(runId: string, states: readonly string[], withinMs?: number): Promise<RunAnswer>
}

export interface RunAnswer {
  run: {
    status: string
    snapshot: { result?: unknown; error?: Record<string, unknown>; context: Record<string, unknown> }
  }
  steps: Record<string, { status: string; output?: unknown; error?: { code: string } }>
}

export const endStates = ['success', 'failed', 'canceled'] as const

/** A definition that takes and gives anything. */
export function definitionOf(id: string, graph: readonly unknown[]): Record<string, unknown> {
  return { id, inputSchema: {}, outputSchema: {}, graph }
}

export function runsOf(app: Caller, { token }: Pick<Person, 'token'>): Runs {
  const call = (method: string, path: string, body?: unknown) =>
    app.call(method, `/api/v1/workflows/${path}`, { token, ...(body === undefined ? {} : { body }) })
  const launch: Runs['launch'] = (slug, inputs = {}) => call('POST', `${slug}/launch`, { inputs })
  const get: Runs['get'] = (runId) => call('GET', `runs/${runId}`)
  return {
    install: async (slug, definition) => {
      const answer = await call('POST', `${slug}/install`, { definition })
      if (answer.status !== 201) throw new Error(`${slug} was not installed: ${answer.text}`)
    },
    launch,
    start: async (slug, inputs) => {
      const answer = await launch(slug, inputs)
      if (answer.status !== 201) throw new Error(`${slug} was not launched: ${answer.text}`)
      return answer.body.runId
    },
    resume: (runId, body) => call('POST', `runs/${runId}/resume`, body),
    cancel: (runId) => call('POST', `runs/${runId}/cancel`),
    get,
    list: async (status) => {
      const { body } = await call('GET', `runs?limit=200&status=${status}`)
      return body.runs.map(({ runId }: { runId: string }) => runId)
    },
    reaches: async (runId, states, withinMs = 20_000) => {
      let seen: Answer | undefined
      await until(async () => {
        seen = await get(runId)
        return states.includes(seen.body?.run?.status)
      }, withinMs).catch(() => {
        throw new Error(`run ${runId} did not become ${states.join(' or ')}: ${seen?.text.slice(0, 2000)}`)
      })
      return seen?.body
    },
  }
}
