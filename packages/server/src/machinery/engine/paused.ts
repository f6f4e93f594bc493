import type { PausedCall } from '#platform/engine-client.ts'
import { fetchWithin } from './deadline.ts'

const answerWithinMs = 5000

/** Those whose end is what somebody waits for; the others have a last attempt of their own. */
const tended = ['WorkflowRun', 'StepRunner']

interface Row {
  readonly id: string
  readonly target_service_name: string
  readonly target_service_key: string | null
  readonly target_handler_name: string
}

/** What the engine has put aside after its last attempt, by its own account of it. */
export function pausedCalls(adminUrl: string) {
  const fetching = fetchWithin(answerWithinMs)
  const ask = async (path: string, init: RequestInit): Promise<Response> => {
    const response = await fetching(`${adminUrl}${path}`, init)
    if (response.ok) return response
    throw new Error(`the engine answered ${response.status}: ${(await response.text()).slice(0, 500)}`)
  }
  return {
    listPaused: async (limit: number): Promise<PausedCall[]> => {
      const query = `select id, target_service_name, target_service_key, target_handler_name
        from sys_invocation where status = 'paused'
        and target_service_name in (${tended.map((name) => `'${name}'`).join(', ')}) limit ${limit}`
      const headers = { 'content-type': 'application/json', accept: 'application/json' }
      const response = await ask('/query', { method: 'POST', headers, body: JSON.stringify({ query }) })
      const { rows } = (await response.json()) as { rows: Row[] }
      return rows.map((row) => ({
        invocationId: row.id,
        runId:
          row.target_service_name === 'WorkflowRun' && row.target_handler_name === 'run'
            ? (row.target_service_key ?? undefined)
            : undefined,
      }))
    },
    resumePaused: async (invocationId: string) => {
      await ask(`/invocations/${encodeURIComponent(invocationId)}/resume`, { method: 'PATCH' })
    },
    endPaused: async (invocationId: string) => {
      await ask(`/invocations/${encodeURIComponent(invocationId)}/kill`, { method: 'PATCH' })
    },
  }
}
