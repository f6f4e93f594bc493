import { createHash } from 'node:crypto'
import { approvalUrl } from '#access/approvals/approvals.ts'
import type { Config } from '#platform/config.ts'
import type { ClaimedMessage } from './outbox-store.ts'

type Told = Pick<ClaimedMessage, 'kind' | 'approvalIds' | 'approvalKind' | 'expiresAt' | 'waiting'>

const titles: Readonly<Record<NonNullable<ClaimedMessage['approvalKind']>, string>> = {
  consent: 'An agent asks for access',
  permission: 'An agent asks for a permission',
  workflow: 'A workflow waits for an answer',
  budget: 'An agent has reached its limit',
  tool: 'An agent asks to use a tool',
  ask: 'An agent asks a question',
}

/**
 * What a browser is told: which request, and of what kind. Nothing of what is asked, by whom or where: that is read on the
 * request's own page, by whoever is signed in. In the declarative form, which some browsers show without our worker.
 */
export function composeMessage(config: Pick<Config, 'appUrl'>, told: Told): string {
  const { kind, approvalIds, expiresAt } = told
  const [approvalId = ''] = approvalIds
  const isOfOne = kind === 'asked' || kind === 'ended'
  return JSON.stringify({
    web_push: 8030,
    notification: {
      title: titleOf(told),
      navigate: isOfOne ? approvalUrl(config, approvalId) : `${config.appUrl}${pathOf(kind)}`,
      tag: isOfOne ? approvalId : kind,
      ...(kind === 'ended' && { silent: true }),
    },
    guild: {
      v: 1,
      kind,
      ...(isOfOne && { approval_id: approvalId }),
      ...(kind === 'asked' && { expires_at: expiresAt }),
    },
  })
}

function pathOf(kind: Told['kind']): string {
  if (kind === 'reset') return '/settings/passkeys'
  return kind === 'test' ? '/settings' : '/'
}

function titleOf({ kind, approvalKind, waiting }: Told): string {
  if (kind === 'test') return 'This browser is told'
  if (kind === 'reset') return 'Your passkeys are about to be taken away'
  if (kind === 'ended') return 'Nothing to decide here any more'
  if (kind === 'digest')
    return waiting === 1
      ? 'A request came while you were quiet'
      : `${waiting} requests came while you were quiet`
  return titles[approvalKind ?? 'ask']
}

/** What is told of the same thing later takes the place of what has not arrived yet. */
export function topicOf({ kind, approvalIds }: Pick<Told, 'kind' | 'approvalIds'>): string {
  const about = kind === 'asked' || kind === 'ended' ? approvalIds[0] : kind
  return createHash('sha256').update(`push:${about}`).digest('base64url').slice(0, 32)
}
