import { createHash, randomUUID } from 'node:crypto'
import { pushSubscriptionsPerUser } from '@guildhall/contract'
import { lockUser } from '#accounts/users/users.ts'
import { ApiError } from '#operations/errors.ts'
import type { Principal } from '#operations/principal.ts'
import type { Tx } from '#platform/database.ts'
import type { PushSettings } from '#platform/push-settings.ts'
import { readEndpoint } from './endpoint.ts'
import { isRecipient } from './seal.ts'
import * as store from './store.ts'

interface Given {
  readonly endpoint: string
  readonly p256dh: string
  readonly auth: string
  readonly label: string | undefined
}

/**
 * Notes where a browser is told. One endpoint is one row: whoever signs in to a browser that another person used has it
 * from now on, if it shows the browser's own secret, and with it nothing that was due to the other.
 */
export async function subscribe(tx: Tx, push: PushSettings, person: Principal, given: Given) {
  const row = readGiven(push, person, given)
  await lockUser(tx, person.userId)
  const known = await store.lockEndpoint(tx, row.endpoint_hash)
  if (known?.user_id === person.userId) {
    await store.updateSubscription(tx, known.id, row)
    return { id: known.id }
  }
  if (known && !(known.p256dh.equals(row.p256dh) && known.auth.equals(row.auth))) throw taken()
  if ((await store.countSubscriptions(tx, person.userId)) >= pushSubscriptionsPerUser) {
    throw new ApiError('CONFLICT', {
      message: `A person can have ${pushSubscriptionsPerUser} browsers told; remove one first`,
      details: { limit: pushSubscriptionsPerUser },
    })
  }
  if (known) await store.deleteSubscription(tx, known.id)
  if (!(await store.insertSubscription(tx, row))) throw taken()
  return { id: row.id }
}

function readGiven(push: PushSettings, person: Principal, given: Given): store.NewSubscription {
  const destination = readEndpoint(push, given.endpoint)
  if (!destination)
    throw new ApiError('INVALID_INPUT', {
      message:
        'endpoint: not the address of a push service that is known here; the operator lists them in PUSH_HOSTS',
    })
  const recipient = {
    p256dh: Buffer.from(given.p256dh, 'base64url'),
    auth: Buffer.from(given.auth, 'base64url'),
  }
  if (!isRecipient(recipient))
    throw new ApiError('INVALID_INPUT', { message: 'keys: not what a browser gives; send them as they are' })
  const { href, origin } = destination.url
  return {
    id: `push_${randomUUID()}`,
    user_id: person.userId,
    session_id: person.credentialId,
    endpoint_hash: createHash('sha256').update(href).digest(),
    endpoint: href,
    origin,
    p256dh: recipient.p256dh,
    auth: recipient.auth,
    vapid_version: push.keys.current,
    label: given.label ?? null,
  }
}

function taken(): ApiError {
  return new ApiError('CONFLICT', {
    message: 'Another person has this endpoint; unsubscribe in the browser and subscribe again',
  })
}
