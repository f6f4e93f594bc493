import { readFile } from 'node:fs/promises'
import type { Guildhall } from '@guildhall/sdk'
import type { Handler } from '../command.ts'
import type { Context } from '../context.ts'
import { type ExitCode, exit } from '../exit-codes.ts'
import { Failure, usage } from '../failure.ts'
import type { Column } from '../output/columns.ts'
import { joined, say } from '../output/safe-text.ts'
import { connect, type Self } from './consent.ts'
import { waitFor } from './waiting.ts'

type Grant = Self['scopes'][number]

const grantColumns: readonly Column<Grant>[] = [
  { head: 'SCOPE', cell: ({ scope }) => scope, wide: true },
  { head: 'MODE', cell: ({ mode }) => (mode === 'persistent' ? 'always' : mode) },
  { head: 'UNTIL', cell: ({ expires_at }) => expires_at },
]

export const list: Handler = async ({ client, out, signal }) => {
  const self = await (await client()).permissions.me({ signal })
  out.list(
    { items: self.scopes },
    grantColumns,
    say`This key holds no scope. Next: guild perms ask SCOPE --reason "…"`,
  )
  return exit.done
}

const modes = { once: 'one_time', session: 'session', always: 'persistent' } as const

/** One scope is a question of its own, with reason and mode; several are one card. */
export const ask: Handler = async (context) => {
  const { input, out, signal } = context
  const scopes = input.rest('SCOPE')
  const [scope] = scopes
  if (scope === undefined) throw usage('Name a scope.', 'guild perms ask tool:execute --reason "…"')
  const client = await context.client()
  if (scopes.length > 1) {
    if (!input.has('wait')) return declareWithoutWaiting(context, client, scopes)
    const granted = await connect(context, client, scopes)
    out.document({ status: 'granted', scopes: granted }, () => [])
    out.done(say`Allowed: ${joined(granted, ', ')}`)
    return exit.done
  }
  const reason = input.text('reason')
  if (!reason)
    throw usage('Say why, so that a person can decide.', `guild perms ask ${scope} --reason "…" --wait`)
  const mode = input.text('mode') as keyof typeof modes | undefined
  const action = await actionOf(input.text('action'))
  const asked = await client.permissions.request(
    { scope, reason, ...(mode && { mode: modes[mode] }), ...(action && { action }) },
    { signal },
  )
  if (asked.status === 'already_granted') {
    out.document({ status: 'already_granted', scope }, () => [])
    out.done(say`This key holds ${scope} already.`)
    return exit.done
  }
  if (!input.has('wait')) {
    const next = `guild perms wait ${asked.request_id}`
    out.document({ status: 'pending', request_id: asked.request_id, next: [next] }, () => [
      say`${asked.request_id}`,
    ])
    out.talk(say`Asked. Next: ${next}`)
    return exit.done
  }
  return awaitDecision(context, client, asked.request_id)
}

export const wait: Handler = async (context) =>
  awaitDecision(context, await context.client(), context.input.argument('ID'))

async function awaitDecision(context: Context, client: Guildhall, requestId: string): Promise<ExitCode> {
  const { out, settings, signal } = context
  const answer = await waitFor(context, {
    words: say`Asked (${requestId}). Waiting for a person`,
    waitMs: settings.waitMs,
    poll: (seconds) => client.permissions.poll(requestId, { wait: seconds }, { signal }),
    isOver: ({ status }) => status !== 'pending',
  })
  if (answer?.status === 'granted') {
    out.document({ request_id: requestId, ...answer }, () => [])
    out.done(say`Allowed${answer.expires_at ? `, until ${answer.expires_at}` : ''}.`)
    return exit.done
  }
  if (answer?.status === 'denied') {
    throw new Failure({
      exitCode: exit.notAllowed,
      message: answer.deny_reason ? `Denied: "${answer.deny_reason}"` : 'The person denied it.',
      code: 'DENIED',
      next: ['talk to the person, or do it another way'],
    })
  }
  throw new Failure({
    exitCode: exit.waits,
    message: answer ? 'Nobody decided in time; the question has expired.' : 'Nobody has decided yet.',
    next: answer
      ? ['ask again: guild perms ask SCOPE --reason "…" --wait']
      : [`guild perms wait ${requestId} --wait=30m`],
  })
}

export const declare: Handler = async (context) => {
  const client = await context.client()
  const scopes = context.input.rest('SCOPE')
  if (!context.input.has('wait')) return declareWithoutWaiting(context, client, scopes)
  const granted = await connect(context, client, scopes)
  context.out.document({ status: 'granted', scopes: granted }, () => [])
  context.out.done(say`Allowed: ${joined(granted, ', ')}`)
  return exit.done
}

async function declareWithoutWaiting(
  { out, signal }: Context,
  client: Guildhall,
  scopes: readonly string[],
): Promise<ExitCode> {
  const asked = await client.consents.request({ requestedScopes: [...scopes] }, { signal })
  const next = `guild perms declare ${scopes.join(' ')} --wait`
  out.document({ ...asked, next: asked.status === 'active' ? [] : [next] }, () => [
    say`${asked.status === 'active' ? 'active' : asked.link_code}`,
  ])
  if (asked.status !== 'active') out.talk(say`Confirm ${asked.link_code} in the app. Wait for it: ${next}`)
  return exit.done
}

export const revoke: Handler = async (context) => {
  const { input, out, settings, signal } = context
  const scope = input.argument('SCOPE')
  const keyId = input.text('key') ?? settings.profile?.keyId?.toString()
  if (!keyId) throw usage('Say which key.', `guild perms revoke ${scope} --key ID`)
  const person = await context.person()
  const answer = await person.permissions.remove(keyId, scope, { signal })
  out.document(answer, () => [])
  out.done(
    say`Removed ${scope} from key ${keyId}. Left: ${answer.scopes.length > 0 ? joined(answer.scopes, ', ') : 'nothing'}`,
  )
  return exit.done
}

async function actionOf(path: string | undefined) {
  if (!path) return undefined
  try {
    return JSON.parse(await readFile(path, 'utf8'))
  } catch (cause) {
    throw new Failure({
      exitCode: exit.notValid,
      message: `${path} cannot be read as JSON: ${cause instanceof Error ? cause.message : String(cause)}`,
      next: ['write {"summary": "what you mean to do"}'],
      cause,
    })
  }
}
