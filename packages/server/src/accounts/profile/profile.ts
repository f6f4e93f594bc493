import type { Db } from '#platform/database.ts'
import * as store from './store.ts'

/** What is known of a person and should not leave with what others are given. */
export async function findPersonal(db: Db, userId: string): Promise<{ emails: string[]; facts: string[] }> {
  const row = await store.findProfile(db, userId)
  if (!row) return { emails: [], facts: [] }
  const { email, bio, facts } = row
  return {
    emails: email ? [email] : [],
    facts: [...Object.values(facts ?? {}), ...(bio ? [bio] : [])],
  }
}
