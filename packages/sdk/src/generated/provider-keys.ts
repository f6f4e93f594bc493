// Printed from the contract by "npm run sdk". Do not edit.
import type { CallOptions } from '../client.ts'
import type { Operation } from '../operation.ts'
import { Resource } from '../resource.ts'
import type { ProviderKey, Success } from './records.ts'

/**
 * The person's own keys of model providers, without their secrets.
 *
 * The hint tells them apart.
 */
export const listProviderKeys: Operation<object, ProviderKey[]> = {
  name: 'listProviderKeys',
  path: '/api/v1/profile/provider-keys',
}

/** What is sent to {@link storeProviderKey}. */
export interface StoreProviderKeyBody {
  /** Kept encrypted; no answer shows it again */
  apiKey: string
  /** One of the addresses of this deployment's models; needed where it has several */
  baseUrl?: string | undefined
}

/**
 * Store a key of a model provider, in place of one stored before; for accounts in byokmode.
 *
 * 403 outside byokmode; 400 when the address is none of this deployment's.
 */
export const storeProviderKey: Operation<
  { params: { provider: string | number }; body: StoreProviderKeyBody },
  ProviderKey
> = { name: 'storeProviderKey', path: '/api/v1/profile/provider-keys/:provider', method: 'PUT' }

/**
 * Remove a stored key.
 *
 * 404 when none is stored.
 */
export const removeProviderKey: Operation<{ params: { provider: string | number } }, Success> = {
  name: 'removeProviderKey',
  path: '/api/v1/profile/provider-keys/:provider',
  method: 'DELETE',
}

/** One method for each of these operations. */
export class ProviderKeys extends Resource {
  /**
   * The person's own keys of model providers, without their secrets.
   *
   * The hint tells them apart.
   */
  list(options?: CallOptions): Promise<ProviderKey[]> {
    return this.client.call({ name: 'listProviderKeys', path: '/api/v1/profile/provider-keys' }, {}, options)
  }
  /**
   * Store a key of a model provider, in place of one stored before; for accounts in byokmode.
   *
   * 403 outside byokmode; 400 when the address is none of this deployment's.
   */
  store(provider: string | number, body: StoreProviderKeyBody, options?: CallOptions): Promise<ProviderKey> {
    return this.client.call(
      { name: 'storeProviderKey', path: '/api/v1/profile/provider-keys/:provider', method: 'PUT' },
      { params: { provider }, body },
      options,
    )
  }
  /**
   * Remove a stored key.
   *
   * 404 when none is stored.
   */
  remove(provider: string | number, options?: CallOptions): Promise<Success> {
    return this.client.call(
      { name: 'removeProviderKey', path: '/api/v1/profile/provider-keys/:provider', method: 'DELETE' },
      { params: { provider } },
      options,
    )
  }
}
