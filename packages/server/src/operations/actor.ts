/**
 * Who acts, and through what: this is recorded, and handed on to effects. How a request has proved who it acts for is a
 * matter of its principal. Neither a key nor a grant for a person who acts in person.
 */
export interface Actor {
  readonly workspaceId: string
  readonly userId: string
  readonly apiKeyId: number | null
  readonly oauthGrantId: number | null
  /** Of a person who acts in person, where it is known. */
  readonly sessionId?: number
}

/** The same of whoever acts in no workspace, or in another one than what is told of it. */
export type Doer = Omit<Actor, 'workspaceId'>

export function inPerson(userId: string): Doer {
  return { userId, apiKeyId: null, oauthGrantId: null }
}

export function isInPerson({ apiKeyId, oauthGrantId }: Doer): boolean {
  return apiKeyId === null && oauthGrantId === null
}

interface Started {
  readonly workspace_id: string
  readonly user_id: string
  readonly api_key_id: number | null
  readonly oauth_grant_id: number | null
}

/** Who acts by what was started earlier. */
export function actorBehind(row: Started): Actor {
  return {
    workspaceId: row.workspace_id,
    userId: row.user_id,
    apiKeyId: row.api_key_id,
    oauthGrantId: row.oauth_grant_id,
  }
}
