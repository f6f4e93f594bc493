// Printed from the contract by "npm run sdk". Do not edit.
import type { CallOptions } from '../client.ts'
import type { Operation } from '../operation.ts'
import { Resource } from '../resource.ts'
import type { NewOAuthClient, OAuthClient, Success } from './records.ts'

/**
 * The person's third-party apps.
 *
 * Without their secrets.
 */
export const listOAuthClients: Operation<object, OAuthClient[]> = {
  name: 'listOAuthClients',
  path: '/api/v1/oauth/clients',
}

/** What is sent to {@link createOAuthClient}. */
export interface CreateOAuthClientBody {
  name: string
  redirect_uris: string[]
  public?: boolean | undefined
}

/**
 * Register a third-party app.
 *
 * Copy client_secret now. Redirect addresses must match exactly later; public apps use PKCE.
 */
export const createOAuthClient: Operation<{ body: CreateOAuthClientBody }, NewOAuthClient> = {
  name: 'createOAuthClient',
  path: '/api/v1/oauth/clients',
  method: 'POST',
  creates: true,
  secret: true,
}

/**
 * Remove an app; its tokens stop working.
 *
 * So do its sockets and streams.
 */
export const deleteOAuthClient: Operation<{ params: { id: string } }, Success> = {
  name: 'deleteOAuthClient',
  path: '/api/v1/oauth/clients/:id',
  method: 'DELETE',
}

/** One method for each of these operations. */
export class OauthClients extends Resource {
  /**
   * The person's third-party apps.
   *
   * Without their secrets.
   */
  list(options?: CallOptions): Promise<OAuthClient[]> {
    return this.client.call({ name: 'listOAuthClients', path: '/api/v1/oauth/clients' }, {}, options)
  }
  /**
   * Register a third-party app.
   *
   * Copy client_secret now. Redirect addresses must match exactly later; public apps use PKCE.
   */
  create(body: CreateOAuthClientBody, options?: CallOptions): Promise<NewOAuthClient> {
    return this.client.call(
      {
        name: 'createOAuthClient',
        path: '/api/v1/oauth/clients',
        method: 'POST',
        creates: true,
        secret: true,
      },
      { body },
      options,
    )
  }
  /**
   * Remove an app; its tokens stop working.
   *
   * So do its sockets and streams.
   */
  delete(id: string, options?: CallOptions): Promise<Success> {
    return this.client.call(
      { name: 'deleteOAuthClient', path: '/api/v1/oauth/clients/:id', method: 'DELETE' },
      { params: { id } },
      options,
    )
  }
}
