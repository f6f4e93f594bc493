// Printed from the contract by "npm run sdk". Do not edit.
import type { CallOptions } from '../client.ts'
import type { Operation } from '../operation.ts'
import { Resource } from '../resource.ts'
import type { Open } from './records.ts'

/** What {@link getHealth} answers. */
export interface GetHealthAnswer {
  status: 'ok'
}

/**
 * The process is alive.
 *
 * Asks no other part, so that a lost database does not restart the process.
 */
export const getHealth: Operation<object, GetHealthAnswer> = {
  name: 'getHealth',
  path: '/healthz',
  public: true,
}

/** What {@link getReadiness} answers. */
export type GetReadinessAnswer =
  | {
      status: Open<'ok' | 'degraded'>
      down: string[]
    }
  | {
      status: Open<'unavailable' | 'stopping'>
      down: string[]
    }

/**
 * Whether to send requests here, and which parts are away.
 *
 * Degraded still serves; on 503 send requests elsewhere until it answers 200 again.
 */
export const getReadiness: Operation<object, GetReadinessAnswer> = {
  name: 'getReadiness',
  path: '/readyz',
  public: true,
}

/**
 * Prometheus metrics of this process.
 *
 * Where a metrics token is set, send it as a bearer token; 401 without it.
 */
export const getMetrics: Operation<object, string> = { name: 'getMetrics', path: '/metrics', answers: 'text' }

/** What is sent to {@link syncCatalog}. */
export interface SyncCatalogBody {
  repository: string
  ref?: string | undefined
  path?: string | undefined
}

/** What {@link syncCatalog} answers. */
export interface SyncCatalogAnswer {
  repository: string
  commitHash: string
  /** Of the catalog; as before when nothing changed */
  revision: number
  /** How many the catalog has of this source now */
  skills: number
  written: number
  removed: number
  skipped: {
    path: string
    reason: string
  }[]
}

/**
 * Bring every skill of a git repository into the catalog; needs the operator token as a bearer token.
 *
 * Skills that cannot be read are skipped and named; the others are written. 401 without the token.
 */
export const syncCatalog: Operation<{ body: SyncCatalogBody }, SyncCatalogAnswer> = {
  name: 'syncCatalog',
  path: '/api/v1/operator/catalog/sync',
  method: 'POST',
}

/** One method for each of these operations. */
export class Operations extends Resource {
  /**
   * The process is alive.
   *
   * Asks no other part, so that a lost database does not restart the process.
   */
  health(options?: CallOptions): Promise<GetHealthAnswer> {
    return this.client.call({ name: 'getHealth', path: '/healthz', public: true }, {}, options)
  }
  /**
   * Whether to send requests here, and which parts are away.
   *
   * Degraded still serves; on 503 send requests elsewhere until it answers 200 again.
   */
  readiness(options?: CallOptions): Promise<GetReadinessAnswer> {
    return this.client.call({ name: 'getReadiness', path: '/readyz', public: true }, {}, options)
  }
  /**
   * Prometheus metrics of this process.
   *
   * Where a metrics token is set, send it as a bearer token; 401 without it.
   */
  metrics(options?: CallOptions): Promise<string> {
    return this.client.call({ name: 'getMetrics', path: '/metrics', answers: 'text' }, {}, options)
  }
  /**
   * Bring every skill of a git repository into the catalog; needs the operator token as a bearer token.
   *
   * Skills that cannot be read are skipped and named; the others are written. 401 without the token.
   */
  syncCatalog(body: SyncCatalogBody, options?: CallOptions): Promise<SyncCatalogAnswer> {
    return this.client.call(
      { name: 'syncCatalog', path: '/api/v1/operator/catalog/sync', method: 'POST' },
      { body },
      options,
    )
  }
}
