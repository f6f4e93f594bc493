// Printed from the contract by "npm run sdk". Do not edit.
import type { CallOptions } from '../client.ts'
import type { Operation } from '../operation.ts'
import { Resource } from '../resource.ts'
import type {} from './records.ts'

/** What {@link getMeta} answers. */
export interface GetMetaAnswer {
  name: string
  version: string
  apiVersion: string
  format: string
  features: string[]
  deprecations: {
    route: string
    deprecation: string
    sunset: string
  }[]
  /** Where people decide: cards are at <appUrl>/approvals/<id> */
  appUrl: string
  /** The oldest version of each client that this deployment serves */
  clients: {
    cli: {
      minimum: string
    }
  }
  /** Null where browsers are not told of what waits */
  push: {
    /** For PushManager.subscribe, as base64url */
    applicationServerKey: string
  } | null
}

/**
 * Version, features and deprecations of this deployment.
 *
 * Read it once at the start: it names the API version and what is about to go away.
 */
export const getMeta: Operation<object, GetMetaAnswer> = {
  name: 'getMeta',
  path: '/api/v1/meta',
  public: true,
}

/** What {@link getOpenApi} answers. */
export type GetOpenApiAnswer = unknown

/**
 * This document.
 *
 * The same document that the repository has in docs/api.
 */
export const getOpenApi: Operation<object, GetOpenApiAnswer> = {
  name: 'getOpenApi',
  path: '/openapi.json',
  public: true,
}

/** One method for each of these operations. */
export class Meta extends Resource {
  /**
   * Version, features and deprecations of this deployment.
   *
   * Read it once at the start: it names the API version and what is about to go away.
   */
  get(options?: CallOptions): Promise<GetMetaAnswer> {
    return this.client.call({ name: 'getMeta', path: '/api/v1/meta', public: true }, {}, options)
  }
  /**
   * This document.
   *
   * The same document that the repository has in docs/api.
   */
  openapi(options?: CallOptions): Promise<GetOpenApiAnswer> {
    return this.client.call({ name: 'getOpenApi', path: '/openapi.json', public: true }, {}, options)
  }
}
