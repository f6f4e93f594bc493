import type { ModelProvider } from '@guildhall/contract'
import { findPersonal } from '#accounts/profile/profile.ts'
import { findProviderKey } from '#machinery/models/models.ts'
import type { Deps } from '#platform/deps.ts'
import { noRules, type RedactionRules } from './redact.ts'
import * as store from './store.ts'

const providers: readonly ModelProvider[] = ['anthropic', 'openai-compatible']

type RuleParts = Pick<Deps, 'config' | 'database'>

/** What leaves the workspace is without what is known of these people, and without what anybody has marked. */
export async function exportRules(
  { config, database: { db } }: RuleParts,
  traceId: string,
  userIds: readonly string[],
): Promise<RedactionRules> {
  const people = [...new Set(userIds)]
  const personal = await Promise.all(people.map((userId) => findPersonal(db, userId)))
  const keys = await Promise.all(
    people.flatMap((userId) =>
      providers.map((provider) =>
        // One that can no longer be read by us is in no text of ours either.
        findProviderKey(db, config.encryptionKeys, userId, provider).catch(() => undefined),
      ),
    ),
  )
  return {
    secrets: keys.flatMap((key) => key?.apiKey ?? []),
    emails: personal.flatMap(({ emails }) => emails),
    facts: personal.flatMap(({ facts }) => facts),
    isMarked: await markedIn(db, traceId),
  }
}

/** What stays within the workspace and goes to an agent: secrets and marked turns are not for it either. */
export async function briefRules({ database: { db } }: RuleParts, traceId: string): Promise<RedactionRules> {
  return { ...noRules, isMarked: await markedIn(db, traceId) }
}

async function markedIn(db: RuleParts['database']['db'], traceId: string) {
  const marked = new Set(await store.listMarks(db, traceId))
  return (seq: number) => marked.has(seq)
}
