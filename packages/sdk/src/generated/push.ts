// Printed from the contract by "npm run sdk". Do not edit.
import type { CallOptions } from '../client.ts'
import type { Operation } from '../operation.ts'
import { Resource } from '../resource.ts'
import type { PushSubscription, Success } from './records.ts'

/** What is sent to {@link subscribePush}. */
export interface SubscribePushBody {
  endpoint: string
  keys: {
    p256dh: string
    auth: string
  }
  label?: string | undefined
}

/** What {@link subscribePush} answers. */
export interface SubscribePushAnswer {
  id: string
}

/**
 * Have this browser told of what waits for the person.
 *
 * Send what PushManager.subscribe gave, made with the key of `meta.push`. The same endpoint is the same subscription; it ends with the session. 409 beyond ten, and when another person has the endpoint.
 */
export const subscribePush: Operation<{ body: SubscribePushBody }, SubscribePushAnswer> = {
  name: 'subscribePush',
  path: '/api/v1/push/subscriptions',
  method: 'PUT',
}

/**
 * The browsers that are told.
 *
 * Neither endpoints nor keys are shown.
 */
export const listPushSubscriptions: Operation<object, PushSubscription[]> = {
  name: 'listPushSubscriptions',
  path: '/api/v1/push/subscriptions',
}

/**
 * Tell a browser no more.
 *
 * What was due to it is dropped.
 */
export const removePushSubscription: Operation<{ params: { id: string } }, Success> = {
  name: 'removePushSubscription',
  path: '/api/v1/push/subscriptions/:id',
  method: 'DELETE',
}

/**
 * Send a browser a message that asks for nothing.
 *
 * It comes within seconds, quiet hours or not; asked again before it is sent, it is sent once.
 */
export const testPushSubscription: Operation<{ params: { id: string } }, Success> = {
  name: 'testPushSubscription',
  path: '/api/v1/push/subscriptions/:id/test',
  method: 'POST',
}

/** One method for each of these operations. */
export class Push extends Resource {
  /**
   * Have this browser told of what waits for the person.
   *
   * Send what PushManager.subscribe gave, made with the key of `meta.push`. The same endpoint is the same subscription; it ends with the session. 409 beyond ten, and when another person has the endpoint.
   */
  subscribe(body: SubscribePushBody, options?: CallOptions): Promise<SubscribePushAnswer> {
    return this.client.call(
      { name: 'subscribePush', path: '/api/v1/push/subscriptions', method: 'PUT' },
      { body },
      options,
    )
  }
  /**
   * The browsers that are told.
   *
   * Neither endpoints nor keys are shown.
   */
  list(options?: CallOptions): Promise<PushSubscription[]> {
    return this.client.call(
      { name: 'listPushSubscriptions', path: '/api/v1/push/subscriptions' },
      {},
      options,
    )
  }
  /**
   * Tell a browser no more.
   *
   * What was due to it is dropped.
   */
  remove(id: string, options?: CallOptions): Promise<Success> {
    return this.client.call(
      { name: 'removePushSubscription', path: '/api/v1/push/subscriptions/:id', method: 'DELETE' },
      { params: { id } },
      options,
    )
  }
  /**
   * Send a browser a message that asks for nothing.
   *
   * It comes within seconds, quiet hours or not; asked again before it is sent, it is sent once.
   */
  test(id: string, options?: CallOptions): Promise<Success> {
    return this.client.call(
      { name: 'testPushSubscription', path: '/api/v1/push/subscriptions/:id/test', method: 'POST' },
      { params: { id } },
      options,
    )
  }
}
