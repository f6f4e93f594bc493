import { openAccount } from '#accounts/billing/billing.ts'
import {
  createUser,
  findUserByIdentity,
  type Identity,
  type User,
  updateUser,
} from '#accounts/users/users.ts'
import { createPersonalWorkspace } from '#accounts/workspaces/workspaces.ts'
import type { Deps } from '#platform/deps.ts'
import type { Mode } from '#platform/tables.ts'

/** The account behind an identity; made, with its workspace and its credits, the first time it is seen. */
export async function signInUser(
  { database, config }: Pick<Deps, 'database' | 'config'>,
  identity: Identity,
  mode?: Mode,
): Promise<User> {
  for (;;) {
    const known = await findUserByIdentity(database.db, identity.issuer, identity.subject)
    if (known) {
      const changes = { ...(mode ? { mode } : {}), ...(identity.name ? { name: identity.name } : {}) }
      const changed = Object.entries(changes).some(([field, value]) => known[field as keyof User] !== value)
      return changed ? ((await updateUser(database.db, known.id, changes)) ?? known) : known
    }
    const created = await database
      .transaction(async (tx) => {
        const user = await createUser(tx, identity, mode)
        if (!user) throw new LostRace()
        await createPersonalWorkspace(tx, user.id)
        await openAccount(tx, config, user.id)
        return user
      })
      .catch((error) => {
        if (error instanceof LostRace) return undefined
        throw error
      })
    if (created) return created
  }
}

/** Another sign-in made the same account first; what this one made is rolled back. */
class LostRace extends Error {}
