import { pushRoutes, succeeded } from '@guildhall/contract'
import { wordOfApprovals } from '#access/approvals/approvals.ts'
import { lockUser } from '#accounts/users/users.ts'
import { bindRoutes } from '#operations/bind.ts'
import { ApiError } from '#operations/errors.ts'
import type { Feature } from '#operations/feature.ts'
import type { Bus } from '#platform/bus.ts'
import type { Deps } from '#platform/deps.ts'
import { deleteOver } from './outbox-store.ts'
import { changeSettings, readSettings } from './settings.ts'
import * as store from './store.ts'
import { subscribe } from './subscribe.ts'

const failuresOfFailing = 3
const testSeconds = 600

export function pushFeature({ config, database }: Deps, bus: Bus): Feature {
  const routes = bindRoutes(pushRoutes, {
    subscribePush: async ({ principal, body, access }) => {
      const { push } = config
      if (!push)
        throw new ApiError('NOT_FOUND', {
          message: 'Nothing is told here: the operator has set no VAPID_KEYS',
        })
      const { endpoint, keys, label } = body
      const given = { endpoint, p256dh: keys.p256dh, auth: keys.auth, label }
      return database.transaction(async (tx) => {
        await access.spend(tx)
        return subscribe(tx, push, principal, given)
      })
    },

    listPushSubscriptions: async ({ principal }) => {
      const rows = await store.listSubscriptions(database.db, principal.userId)
      return rows.map((row) => ({
        id: row.id,
        label: row.label,
        createdAt: row.created_at,
        deliveredAt: row.delivered_at,
        failing: row.failures >= failuresOfFailing,
        current: row.session_id === principal.credentialId,
      }))
    },

    removePushSubscription: async ({ principal, params, access }) => {
      await database.transaction(async (tx) => {
        await access.spend(tx)
        if (!(await store.claimRemoval(tx, principal.userId, params.id))) throw new ApiError('NOT_FOUND')
      })
      return succeeded
    },

    testPushSubscription: async ({ principal, params, access }) => {
      await database.transaction(async (tx) => {
        await access.spend(tx)
        if (!(await store.insertTest(tx, principal.userId, params.id, testSeconds)))
          throw new ApiError('NOT_FOUND')
      })
      bus.wake(wordOfApprovals)
      return succeeded
    },

    getNotificationSettings: ({ principal }) => readSettings(database.db, principal.userId),

    updateNotificationSettings: async ({ principal, body, access }) => {
      const { userId } = principal
      const { approvals, questions, budget, quiet, digest, muted } = body
      await database.transaction(async (tx) => {
        await access.spend(tx)
        await lockUser(tx, userId)
        await changeSettings(tx, userId, {
          ...(approvals !== undefined && { approvals }),
          ...(questions !== undefined && { questions }),
          ...(budget !== undefined && { budget }),
          ...(quiet !== undefined && { quiet }),
          ...(digest !== undefined && { digest }),
          ...(muted !== undefined && { muted }),
        })
      })
      bus.wake(wordOfApprovals)
      return readSettings(database.db, userId)
    },
  })
  return { routes, sweeps: [{ table: 'push_messages', run: () => deleteOver(database.db) }] }
}
