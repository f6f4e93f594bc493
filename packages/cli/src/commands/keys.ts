import type { Key } from '@guildhall/sdk'
import { Guildhall } from '@guildhall/sdk'
import { commonOptions } from '../client.ts'
import type { Handler } from '../command.ts'
import { exit } from '../exit-codes.ts'
import { usage } from '../failure.ts'
import type { Column } from '../output/columns.ts'
import { ago } from '../output/duration.ts'
import { money } from '../output/money.ts'
import { say } from '../output/safe-text.ts'
import { confirm, readStdin } from '../prompt.ts'
import { requirePresence } from './decide.ts'

const columns: readonly Column<Key>[] = [
  { head: 'ID', cell: ({ id }) => id },
  { head: 'LABEL', cell: ({ label }) => label, wide: true },
  { head: 'WORKSPACE', cell: ({ workspace }) => workspace.name ?? workspace.id },
  { head: 'STATE', cell: ({ activity, activated }) => (activated ? activity : 'waits for consent') },
  {
    head: 'LAST USED',
    cell: ({ lastUsedAt }, forPeople) => (lastUsedAt && forPeople ? ago(lastUsedAt) : lastUsedAt),
  },
  { head: 'SCOPES', cell: ({ scopes }) => scopes.length },
  {
    head: 'SPENT',
    cell: ({ spend }) =>
      spend.limit === null ? money(spend.total) : `${money(spend.total)} of ${money(spend.limit)}`,
  },
]

export const list: Handler = async ({ out, person, signal }) => {
  out.list({ items: await (await person()).keys.list({ signal }) }, columns, say`There is no key.`)
  return exit.done
}

/** The new key goes to stdout alone. It outlives the session, so a session that was kept is not enough. */
export const create: Handler = async (context) => {
  const { input, out, signal } = context
  const label = input.text('label')
  if (!label) throw usage('Give the key a label.', 'guild keys create --label ci --scopes tool:execute')
  const scopes = input.words('scopes')
  if (scopes.length === 0 && !input.has('full')) {
    throw usage(
      'Say what it may do: --scopes A,B, or --full for everything.',
      `guild keys create --label ${label} --scopes agent:list`,
    )
  }
  const expiresMs = input.durationMs('expires')
  const spendLimit = input.number('spend-limit')
  requirePresence(context)
  const key = await (await context.person('now')).keys.create(
    {
      label,
      ...(scopes.length > 0 && { scopes }),
      ...(expiresMs !== undefined && { expiresAt: new Date(Date.now() + expiresMs).toISOString() }),
      ...(spendLimit !== undefined && { spendLimit }),
    },
    { signal },
  )
  out.document(key, key.api_key)
  out.talk(say`Key ${key.id} "${key.label}". It is shown this once.`)
  return exit.done
}

export const rotate: Handler = async (context) => {
  const { input, out, signal } = context
  requirePresence(context)
  const key = await (await context.person('now')).keys.rotate(input.argument('ID'), {}, { signal })
  out.document(key, key.api_key)
  out.talk(say`Key ${key.id} has a new secret; the old one works for one more hour.`)
  return exit.done
}

export const revoke: Handler = async (context) => {
  const { input, out, settings, signal } = context
  const id = input.argument('ID')
  const sure =
    input.has('yes') || !settings.mayPrompt || (await confirm(`Revoke key ${id} for good?`, signal))
  if (!sure) throw usage('Left as it is.', `guild keys revoke ${id} --yes`)
  const stopRunning = input.has('stop-running')
  const answer = await (await context.person()).keys.revoke(
    id,
    { ...(stopRunning && { stopRunning }) },
    { signal },
  )
  out.document({ id, ...answer }, () => [])
  out.done(say`Revoked. ${answer.stopped} runs stopped.`)
  return exit.done
}

/** Needs no credential: whoever finds a key may report it. */
export const reportLeak: Handler = async (context) => {
  const { out, settings, signal } = context
  const found = (await readStdin(10_000))?.toString('utf8').trim()
  if (!found) throw usage('No key came on stdin.', 'guild keys report-leak < found.txt')
  const { baseUrl } = settings
  if (!baseUrl)
    throw usage('Say where.', 'guild keys report-leak --base-url https://guild.example < found.txt')
  const visitor = new Guildhall(commonOptions(context, baseUrl))
  const answer = await visitor.keys.reportLeak({ key: found }, { signal })
  out.document(answer, () => [])
  out.done(say`Reported. If it was alive it is revoked, and its owner has been told.`)
  return exit.done
}
