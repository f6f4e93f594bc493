// Printed from the contract by "npm run sdk". Do not edit.
import type { CallOptions } from '../client.ts'
import type { Operation } from '../operation.ts'
import { list, type Pager } from '../pager.ts'
import { Resource } from '../resource.ts'
import type { ActivityEntry } from './records.ts'

/** What {@link listActivity} can be asked for. */
export interface ListActivityQuery {
  type?: string | undefined
  /** A user id */
  actor?: string | undefined
  apiKey?: number | undefined
  since?: string | undefined
  until?: string | undefined
  /** 1 to 200; what lies outside is read as the nearest */
  limit?: number | undefined
  cursor?: string | undefined
}

/** What {@link listActivity} answers. */
export interface ListActivityAnswer {
  items: ActivityEntry[]
  nextCursor: string | null
}

/**
 * What happened in this workspace, newest first; never changed afterwards. A key without full access sees what it did itself.
 *
 * Filter by type, person, key and time; the types are a closed list.
 */
export const listActivity: Operation<{ query?: ListActivityQuery | undefined }, ListActivityAnswer> = {
  name: 'listActivity',
  path: '/api/v1/activity',
  page: 'cursor',
}

/** One method for each of these operations. */
export class Activity extends Resource {
  /**
   * What happened in this workspace, newest first; never changed afterwards. A key without full access sees what it did itself.
   *
   * Filter by type, person, key and time; the types are a closed list.
   */
  list(query?: ListActivityQuery, options?: CallOptions): Pager<ActivityEntry> {
    return list(
      this.client,
      { name: 'listActivity', path: '/api/v1/activity', page: 'cursor' },
      { query },
      options,
    )
  }
}
