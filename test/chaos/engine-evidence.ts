import { setTimeout } from 'node:timers/promises'
import type { SpawnedStack } from '../../stack/client.ts'

type Engine = Pick<SpawnedStack, 'restateAdminUrl'>

/** How many calls the engine knows of which this holds. */
export async function countCalls(engine: Engine, condition: string): Promise<number> {
  const [row] = await query<{ n: number }>(
    engine,
    `select count(*) as n from sys_invocation where ${condition}`,
  )
  return row?.n ?? -1
}

export interface OpenCall {
  readonly id: string
  readonly service: string
  readonly handler: string
  /** Of a run: its id. */
  readonly key: string | null
  readonly status: string
  readonly retries: number | null
  readonly failure: string | null
}

/** What the engine has not brought to an end. */
export function listOpenCalls(engine: Engine): Promise<OpenCall[]> {
  return query(
    engine,
    `select id, target_service_name as service, target_handler_name as handler, target_service_key as key, status,
       retry_count as retries, last_failure as failure from sys_invocation where status != 'completed'`,
  )
}

const engineComesBackWithinMs = 30_000

async function query<T>({ restateAdminUrl }: Engine, text: string): Promise<T[]> {
  const ask = () =>
    fetch(`${restateAdminUrl}/query`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json' },
      body: JSON.stringify({ query: text }),
    })
  // It may have been the last to be killed, and be on its way back.
  let response: Response | undefined
  const end = performance.now() + engineComesBackWithinMs
  while (!response?.ok) {
    response = await ask().catch((error: unknown) => {
      if (performance.now() > end) throw error
      return undefined
    })
    if (response?.ok) break
    if (performance.now() > end) throw new Error(`the engine answers ${response?.status}`)
    await setTimeout(250)
  }
  const { rows } = (await response.json()) as { rows: T[] }
  return rows
}
