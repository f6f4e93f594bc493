import type { Approval, Guildhall } from '@guildhall/sdk'
import type { Context } from '../context.ts'
import { exit } from '../exit-codes.ts'
import { Failure, usage } from '../failure.ts'
import { ago } from '../output/duration.ts'
import { block, bold, type Shown, say } from '../output/safe-text.ts'

export function asksFor(approval: Approval): string {
  if (approval.ask) return approval.ask.question
  if (approval.tool) return approval.tool.name
  if (approval.budget) return `more than ${approval.budget.limit} Ds`
  if (approval.workflow) return JSON.stringify(approval.workflow.payload)
  return approval.scopes.map(({ scope }) => scope).join(' ') || (approval.code ?? '')
}

/** Three voices: what is a fact, what is claimed, and what was sent word for word. */
export function voices(approval: Approval): Shown[] {
  const { kind, status, scopes, reason, action, history, key, created_at } = approval
  const sensitive = scopes.filter((scope) => scope.sensitive).map(({ scope }) => scope)
  return [
    say`Fact      ${kind}, ${status}, asked${approval.mode ? ` for ${lasts[approval.mode] ?? approval.mode}` : ''} ${ago(created_at)} by ${key ? `key ${key.id}` : 'a workflow'} · ${sensitive.length > 0 ? `sensitive: ${sensitive.join(', ')}` : 'not sensitive'} · asked ${history.asked}, allowed ${history.allowed}, denied ${history.denied}`,
    ...scopes.map(({ scope, description }) => say`          ${bold(scope)} ${description}`),
    say`Claim     ${reason ?? approval.ask?.question ?? '(no reason given)'}  — says "${key?.label ?? 'the workflow'}"`,
    say`Verbatim  ${action ? '' : '(no action given)'}`,
    ...(action ? [block(JSON.stringify(action, null, 2))] : []),
    ...(approval.workflow ? [block(JSON.stringify(approval.workflow.payload, null, 2))] : []),
    ...(approval.workflow?.payloadBytes === undefined
      ? []
      : [
          say`          the beginning of ${approval.workflow.payloadBytes} bytes; the whole: guild wf run ${approval.workflow.runId}`,
        ]),
  ]
}

/**
 * Only with a person at a real terminal, who types the word. That is friction and no wall: whoever runs as you can
 * type as you. The wall is that no session that was kept is enough, and the passkey.
 */
export function requirePresence({ settings }: Context, ...next: string[]): void {
  if (!settings.isAgent && settings.terminal && !settings.authToken && !settings.isCi) return
  throw new Failure({
    exitCode: exit.notSignedIn,
    message: 'This needs a person at a terminal; --yes and GUILD_AUTH_TOKEN do not help.',
    next: ['do it in the app', ...next],
  })
}

/** Whether it takes the passkey, or a look at the device that pairs. */
export function needsApp({ scopes, tool, kind }: Approval): boolean {
  return scopes.some((scope) => scope.sensitive) || tool?.needsPasskey === true || kind === 'activation'
}

const lasts: Readonly<Record<string, string>> = {
  one_time: 'one use',
  session: 'an hour',
  persistent: 'good',
}

export interface Choice {
  mode?: string | undefined
  scopes?: readonly string[]
  amount?: number | undefined
  data?: string | undefined
}

const modes = { once: 'one_time', session: 'session', always: 'persistent' } as const

export async function allowOne(
  { signal }: Context,
  person: Guildhall,
  { id, kind, scopes }: Approval,
  choice: Choice = {},
): Promise<void> {
  if (kind === 'permission') {
    // Left out, it is granted as it was asked for.
    const mode = choice.mode && modes[choice.mode as keyof typeof modes]
    await person.permissions.approve(id, { ...(mode && { mode }) }, { signal })
  } else if (kind === 'consent') {
    const chosen = choice.scopes?.length ? [...choice.scopes] : scopes.map(({ scope }) => scope)
    await person.consents.approve(id, { scopes: chosen }, { signal })
  } else {
    const { amount, data } = choice
    const body = {
      ...(amount !== undefined && { amount }),
      ...(data !== undefined && { resumeData: parsed(data) }),
    }
    await person.approvals.approve(id, body, { signal })
  }
}

export async function denyOne(
  { signal }: Context,
  person: Guildhall,
  { id, kind, code }: Approval,
  reason?: string,
): Promise<void> {
  const body = { ...(reason !== undefined && { reason }) }
  if (kind === 'permission') await person.permissions.deny(id, body, { signal })
  else if (kind === 'consent') await person.consents.deny(id, body, { signal })
  else if (kind === 'activation') await person.pairings.deny({ code: code ?? '' }, { signal })
  else await person.approvals.deny(id, body, { signal })
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw usage(`--data is no JSON: ${text}`)
  }
}
