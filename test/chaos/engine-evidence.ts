import type { SpawnedStack } from '../../stack/client.ts'

/** How many calls the engine knows of which this holds. */
export async function countCalls(
  { restateAdminUrl }: Pick<SpawnedStack, 'restateAdminUrl'>,
  condition: string,
): Promise<number> {
  const query = `select count(*) as n from sys_invocation where ${condition}`
  const response = await fetch(`${restateAdminUrl}/query`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json' },
    body: JSON.stringify({ query }),
  })
  const { rows } = (await response.json()) as { rows: { n: number }[] }
  return rows[0]?.n ?? -1
}
