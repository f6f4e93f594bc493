import type { Approval, Guildhall } from '@guildhall/sdk'
import { openBrowser } from '../browser.ts'
import type { Handler } from '../command.ts'
import type { Context } from '../context.ts'
import { type ExitCode, exit } from '../exit-codes.ts'
import { Failure, usage } from '../failure.ts'
import type { Column } from '../output/columns.ts'
import { left } from '../output/duration.ts'
import { say } from '../output/safe-text.ts'
import { askLine } from '../prompt.ts'
import { allowOne, asksFor, denyOne, needsApp, requirePresence, voices } from './decide.ts'
import { pageOf } from './lists.ts'
import { waitFor } from './waiting.ts'

const kinds = ['activation', 'consent', 'permission', 'workflow', 'budget', 'tool', 'ask'] as const
const statuses = ['pending', 'granted', 'denied', 'expired'] as const

const columns: readonly Column<Approval>[] = [
  { head: 'ID', cell: ({ id }) => id },
  { head: 'KIND', cell: ({ kind }) => kind },
  { head: 'FROM', cell: ({ key, workflow }) => key?.label ?? workflow?.workflowId },
  { head: 'ASKS FOR', cell: asksFor, wide: true },
  {
    head: 'LEFT',
    cell: ({ expires_at }, forPeople) =>
      expires_at && forPeople ? left(Date.parse(expires_at) - Date.now()) : expires_at,
  },
]

export const list: Handler = async (context) => {
  const { input, out, signal } = context
  const status = statuses.find((each) => each === (input.text('status') ?? 'pending'))
  const kind = kinds.find((each) => each === input.text('kind'))
  const person = await context.person()
  const pager = person.approvals.list({ ...(status && { status }), ...(kind && { kind }) }, { signal })
  out.list(await pageOf(input, pager), columns, say`Nothing waits for you.`)
  return exit.done
}

export const show: Handler = async (context) => {
  const { input, out, signal } = context
  const approval = await (await context.person()).approvals.get(input.argument('ID'), {}, { signal })
  out.document(approval, () => voices(approval))
  return exit.done
}

export const deny: Handler = async (context) => {
  const { input, out, signal } = context
  const id = input.argument('ID')
  const person = await context.person()
  const approval = await person.approvals.get(id, {}, { signal })
  await denyOne(context, person, approval, input.text('reason'))
  out.document({ id, status: 'denied' }, () => [])
  out.done(say`Denied.`)
  return exit.done
}

export const approve: Handler = async (context) => {
  const { input, out, signal } = context
  const id = input.argument('ID')
  requirePresence(context, `guild approvals deny ${id}`)
  const person = await context.person('now')
  const approval = await person.approvals.get(id, {}, { signal })
  for (const line of voices(approval)) out.talk(line)
  if (!needsApp(approval)) {
    const typed = await askLine('Type allow to allow this: ', signal)
    if (typed !== 'allow') throw usage('Nothing was allowed.', `guild approvals deny ${id}`)
    await allowOne(context, person, approval, {
      mode: input.text('mode'),
      scopes: input.words('scopes'),
      amount: input.number('amount'),
      data: input.text('data'),
    })
    out.document({ id, status: 'granted' }, () => [])
    out.done(say`Allowed.`)
    return exit.done
  }
  return inTheApp(context, person, approval)
}

/** Opens its page in the app, where the passkey lives, and waits for what is decided there. */
async function inTheApp(context: Context, person: Guildhall, approval: Approval): Promise<ExitCode> {
  const { out, settings, signal } = context
  out.talk(say`This is decided in the app, with your passkey: ${approval.approval_url}`)
  openBrowser(approval.approval_url, settings.environment)
  const decided = await waitFor(context, {
    words: say`Waiting for the app`,
    waitMs: settings.waitMs,
    poll: (wait) => person.approvals.get(approval.id, { wait }, { signal }),
    isOver: ({ status }) => status !== 'pending',
  })
  if (decided?.status === 'granted') {
    out.document({ id: approval.id, status: 'granted' }, () => [])
    out.done(say`Allowed in the app.`)
    return exit.done
  }
  throw new Failure({
    exitCode: decided?.status === 'denied' ? exit.notAllowed : exit.waits,
    message: decided ? `It is ${decided.status}.` : 'Nobody has decided in the app yet.',
    next: [`open ${approval.approval_url}`],
  })
}
