import type { Approval } from '@guildhall/sdk'
import { plainLine } from '../parts/text.ts'
import { amountOf } from '../parts/time.ts'
import { words } from '../words.ts'

/** Who asks, as far as Guildhall knows: the label that the person's key has. */
export function fromOf({ key, kind }: Approval): string {
  if (key) return plainLine(key.label)
  return kind === 'activation' ? words.newDevice : words.workflowRun
}

export const kindOf = ({ kind }: Approval) => words.kinds[kind] ?? words.unknownKind

/** The headline of a card: ours, made of what Guildhall knows. No agent writes it. */
export function askOf(request: Approval): string {
  const { kind, scopes, budget, tool, workflow } = request
  const [first] = scopes
  if (kind === 'permission' && first) return words.ask.permission(first.scope)
  if (kind === 'consent') return words.ask.consent
  if (kind === 'budget' && budget) return words.ask.budget(amountOf(budget.limit))
  if (kind === 'tool' && tool) return words.ask.tool(plainLine(tool.name))
  if (kind === 'ask') return words.ask.ask
  if (kind === 'activation') return words.ask.activation(request.code ?? '')
  if (kind === 'workflow') {
    return payloadOf(workflow?.payload)['kind'] === 'approval'
      ? words.ask.workflowApproval
      : words.ask.workflow
  }
  return words.ask.unknown(plainLine(kind))
}

/** The same, shorter, for a line of a list. */
export function shortAskOf(request: Approval): string {
  const { kind, scopes, budget } = request
  const [first] = scopes
  if (kind === 'permission' && first) return words.ask.permissionShort(first.scope)
  if (kind === 'consent') return words.ask.consentShort(scopes.length)
  if (kind === 'budget' && budget) return words.ask.budgetShort(amountOf(budget.limit))
  return askOf(request)
}

/** What became of it; and who said so, unless it was said here. */
export function outcomeOf({ status, decided_by: by }: Approval): string {
  const outcome = words.outcome[status] ?? status
  if (!by || (by.you && by.key_id === null && by.device?.current !== false)) return outcome
  const name = by.you ? words.byYou : by.name ? plainLine(by.name) : words.byMember
  return words.outcomeBy(outcome, by.key_id === null ? name : words.byAgentOf(name))
}

export const pathOf = ({ id, kind, code }: Approval) =>
  kind === 'activation' ? `/pair/${encodeURIComponent(code ?? '')}` : `/approvals/${encodeURIComponent(id)}`

/** What a workflow asks with is anything; only what is known of it is read. */
export function payloadOf(payload: unknown): Readonly<Record<string, unknown>> {
  return typeof payload === 'object' && payload !== null ? (payload as Record<string, unknown>) : {}
}

export const textOf = (value: unknown) => (typeof value === 'string' ? value : undefined)
