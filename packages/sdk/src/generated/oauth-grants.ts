// Printed from the contract by "npm run sdk". Do not edit.
import type { CallOptions } from '../client.ts'
import type { Operation } from '../operation.ts'
import { Resource } from '../resource.ts'
import type { OAuthGrant, Success } from './records.ts'

/**
 * What this person has allowed apps, newest first.
 *
 * Each says when it ends by itself.
 */
export const listOAuthGrants: Operation<object, OAuthGrant[]> = {
  name: 'listOAuthGrants',
  path: '/api/v1/oauth/grants',
}

/**
 * Take back what an app was allowed; its tokens, sockets and streams end.
 *
 * The app has to ask again.
 */
export const endOAuthGrant: Operation<{ params: { id: string } }, Success> = {
  name: 'endOAuthGrant',
  path: '/api/v1/oauth/grants/:id',
  method: 'DELETE',
}

/** One method for each of these operations. */
export class OauthGrants extends Resource {
  /**
   * What this person has allowed apps, newest first.
   *
   * Each says when it ends by itself.
   */
  list(options?: CallOptions): Promise<OAuthGrant[]> {
    return this.client.call({ name: 'listOAuthGrants', path: '/api/v1/oauth/grants' }, {}, options)
  }
  /**
   * Take back what an app was allowed; its tokens, sockets and streams end.
   *
   * The app has to ask again.
   */
  end(id: string, options?: CallOptions): Promise<Success> {
    return this.client.call(
      { name: 'endOAuthGrant', path: '/api/v1/oauth/grants/:id', method: 'DELETE' },
      { params: { id } },
      options,
    )
  }
}
