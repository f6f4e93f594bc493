import { factsPerProfile, profileRoutes } from '@guildhall/contract'
import { updateUser } from '#accounts/users/users.ts'
import { bindRoutes } from '#operations/bind.ts'
import { ApiError } from '#operations/errors.ts'
import type { Feature } from '#operations/feature.ts'
import type { Deps } from '#platform/deps.ts'
import * as store from './store.ts'

export function profileFeature(): Feature {
  const routes = bindRoutes(profileRoutes, {
    getProfile: ({ principal, deps }) => readProfile(deps, principal.userId),

    updateProfile: async ({ principal, body, deps, access }) => {
      const { userId } = principal
      await deps.database.transaction(async (tx) => {
        await access.spend(tx)
        const facts = { ...(await store.lockFacts(tx, userId)) }
        for (const [name, text] of Object.entries(body.facts ?? {})) {
          if (text === null) delete facts[name]
          else facts[name] = text
        }
        if (Object.keys(facts).length > factsPerProfile) {
          throw new ApiError('INVALID_INPUT', {
            message: `facts: a profile holds at most ${factsPerProfile}`,
            details: { limit: factsPerProfile },
          })
        }
        const { bio, timezone, name } = body
        await store.updateProfile(tx, userId, {
          facts,
          ...(bio === undefined ? {} : { bio }),
          ...(timezone === undefined ? {} : { timezone }),
        })
        if (name !== undefined) await updateUser(tx, userId, { name })
      })
      return readProfile(deps, userId)
    },

    searchProfile: async ({ principal, query, deps }) => ({
      items: await store.searchFacts(deps.database.db, principal.userId, query.q),
      nextCursor: null,
    }),
  })
  return { routes }
}

async function readProfile(deps: Deps, userId: string) {
  const row = await store.findProfile(deps.database.db, userId)
  if (!row) throw new ApiError('NOT_FOUND')
  const { name, email, bio, timezone, facts, updated_at } = row
  return { name, email, bio, timezone, facts: facts ?? {}, updatedAt: updated_at }
}
