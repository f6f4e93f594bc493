import type { Decider } from '@guildhall/contract'
import { findSessionName } from '#accounts/sessions/sessions.ts'
import { findUser } from '#accounts/users/users.ts'
import type { Doer } from '#operations/actor.ts'
import type { Db } from '#platform/database.ts'

/** Who decides and where, as it is kept with the decision: the session may end before anybody reads it. */
export async function noteDecider(db: Db, { userId, sessionId }: Doer) {
  return {
    decided_by: userId,
    decided_session: sessionId ?? null,
    decided_device: sessionId === undefined ? null : await findSessionName(db, sessionId),
  }
}

export interface DecidedRow {
  readonly decided_by: string | null
  readonly decider_name: string | null
  readonly decided_by_key: number | null
  readonly decided_session: number | null
  readonly decided_device: string | null
  readonly decided_passkey: string | null
}

/** To others a person has a name, and no devices. */
export function describeDecider(row: DecidedRow, viewer: Doer): Decider | null {
  const { decided_by: userId, decided_session: sessionId } = row
  if (userId === null) return null
  const you = userId === viewer.userId
  const device = sessionId !== null && {
    session_id: sessionId,
    name: row.decided_device,
    current: sessionId === viewer.sessionId,
  }
  return {
    user_id: userId,
    name: row.decider_name,
    you,
    key_id: row.decided_by_key,
    device: (you && device) || null,
    passkey: you ? row.decided_passkey : null,
  }
}

/** The same of a code; whoever else decided it is nobody's business, not even that of who knows the code. */
export async function whoDecided(
  db: Db,
  viewer: Doer,
  late: Omit<DecidedRow, 'decider_name' | 'decided_by_key'> & { readonly decided_at: string | null },
) {
  if (late.decided_by !== viewer.userId) return { decided_at: null, decided_by: null }
  const user = await findUser(db, viewer.userId)
  const row = { ...late, decider_name: user?.name ?? null, decided_by_key: null }
  return { decided_at: late.decided_at, decided_by: describeDecider(row, viewer) }
}
