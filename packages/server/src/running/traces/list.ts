import { traceKinds, traceStatuses } from '@guildhall/contract'
import type { TraceKind } from '#platform/tables.ts'

export interface TraceFilter {
  readonly kind?: TraceKind | undefined
  readonly status?: string | undefined
  readonly agent?: string | undefined
  readonly apiKeyId?: number | undefined
  readonly since?: string | undefined
  readonly until?: string | undefined
}

export interface TracePlace {
  readonly lastActivityAt: string
  readonly rowId: number
}

/**
 * The rows of a page, the latest activity first. Kind and status have few values, so they need not be given: each pair of
 * values that is allowed is a branch, which is one range of an index and reads no more than the page needs. The branches
 * are put in order and cut at the end. So no combination of filters walks over rows that it does not show. Undefined when
 * no trace can be meant.
 */
export function listQuery(
  workspaceId: string,
  filter: TraceFilter,
  page: { readonly limit: number; readonly after?: TracePlace | undefined },
): { readonly text: string; readonly values: readonly unknown[] } | undefined {
  const values: unknown[] = []
  const value = (given: unknown) => `$${values.push(given)}`
  const conditions = [`workspace_id = ${value(workspaceId)}::uuid`]
  const limit = value(page.limit)
  if (filter.agent !== undefined) conditions.push(`agent_slug = ${value(filter.agent)}`)
  if (filter.apiKeyId !== undefined) conditions.push(`api_key_id = ${value(filter.apiKeyId)}::bigint`)
  if (filter.since !== undefined) conditions.push(`last_activity_at >= ${value(filter.since)}::timestamptz`)
  if (filter.until !== undefined) conditions.push(`last_activity_at < ${value(filter.until)}::timestamptz`)
  if (page.after !== undefined) {
    const { lastActivityAt, rowId } = page.after
    const place = `${value(lastActivityAt)}::timestamptz, ${value(rowId)}::bigint`
    conditions.push(`(last_activity_at, row_id) < (${place})`)
  }
  const statuses = traceStatuses.filter((status) => (filter.status ?? status) === status)
  const kinds = traceKinds.filter((kind) => (filter.kind ?? kind) === kind)
  const order = `order by last_activity_at desc, row_id desc limit ${limit}`
  const branches = kinds.flatMap((kind) =>
    statuses.map((status) => {
      const branch = [`kind = '${kind}'`, `status = '${status}'`, ...conditions].join(' and ')
      return `(select * from traces where ${branch} ${order})`
    }),
  )
  const [first, ...others] = branches
  if (first === undefined) return undefined
  return { text: others.length === 0 ? first : `${branches.join(' union all ')} ${order}`, values }
}
