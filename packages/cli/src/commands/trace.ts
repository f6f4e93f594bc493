import { createWriteStream } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Trace, TraceTurn } from '@guildhall/sdk'
import type { Handler } from '../command.ts'
import { exit } from '../exit-codes.ts'
import { Failure, usage } from '../failure.ts'
import type { Column } from '../output/columns.ts'
import { ago } from '../output/duration.ts'
import { money } from '../output/money.ts'
import { block, type Shown, say } from '../output/safe-text.ts'
import { readStdin } from '../prompt.ts'
import { follow } from './follow.ts'
import { pageOf } from './lists.ts'
import { maxCostOf, origin } from './run.ts'

const columns: readonly Column<Trace>[] = [
  { head: 'ID', cell: ({ id }) => id },
  { head: 'KIND', cell: ({ kind }) => kind },
  { head: 'TITLE', cell: ({ title }) => title, wide: true },
  { head: 'STATE', cell: ({ status }) => status },
  { head: 'COST', cell: ({ totalCost }) => money(totalCost) },
  {
    head: 'LAST',
    cell: ({ lastActivityAt }, forPeople) => (forPeople ? ago(lastActivityAt) : lastActivityAt),
  },
]

export const list: Handler = async (context) => {
  const { input, out, signal } = context
  const kind = (['execution', 'chat'] as const).find((each) => each === input.text('kind'))
  const [status, agent, since, until] = ['status', 'agent', 'since', 'until'].map((name) => input.text(name))
  const apiKey = input.number('key')
  const pager = (await context.client()).traces.list(
    {
      ...(kind && { kind }),
      ...(status && { status }),
      ...(agent && { agent }),
      ...(apiKey !== undefined && { apiKey }),
      ...(since && { since: moment(since) }),
      ...(until && { until: moment(until) }),
    },
    { signal },
  )
  out.list(await pageOf(input, pager), columns, say`No trace fits.`)
  return exit.done
}

function moment(text: string): string {
  const time = Date.parse(text)
  if (Number.isNaN(time)) throw usage(`"${text}" is no date.`, 'guild trace list --since 2026-11-14')
  return new Date(time).toISOString()
}

const heldSeconds = 25
const ended = new Set<string>(['completed', 'failed'])

export const show: Handler = async (context) => {
  const { input, out, signal } = context
  const id = input.argument('ID')
  const { traces } = await context.client()
  const follows = input.has('follow')
  const items: TraceTurn[] = []
  let afterSeq = input.number('after') ?? 0
  for (let wait = 0, over = !follows; ; ) {
    const found = await traces.events(id, { afterSeq, ...(wait > 0 && { wait }) }, { signal })
    for (const turn of found.items) {
      afterSeq = turn.seq
      if (!follows) items.push(turn)
      else out.event(turn, () => [line(turn)])
    }
    if (found.items.length > 0) continue
    if (over) break
    // Its last turns may have come since: one more look, that waits for nothing.
    over = ended.has((await traces.get(id, { signal })).status)
    wait = over ? 0 : heldSeconds
  }
  if (follows) out.event({ type: 'guild.result', traceId: id, lastSeq: afterSeq, exitCode: exit.done })
  else out.list({ items }, turnColumns, say`It has no turns.`)
  return exit.done
}

const turnColumns: readonly Column<TraceTurn>[] = [
  { head: 'SEQ', cell: ({ seq }) => seq },
  { head: 'AT', cell: ({ at }, forPeople) => (forPeople ? at.slice(11, 19) : at) },
  { head: 'TYPE', cell: ({ type }) => type },
  { head: 'WHAT', cell: ({ payload }) => JSON.stringify(payload), wide: true },
]

function line({ at, type, payload }: TraceTurn): Shown {
  return say`${at.slice(11, 19)}  ${type}  ${JSON.stringify(payload)}`
}

export const exportTrace: Handler = async ({ input, out, client, signal }) => {
  const id = input.argument('ID')
  const format = (['md', 'jsonl', 'otlp'] as const).find((each) => each === input.text('format'))
  const response = await (await client()).traces.export(id, { ...(format && { format }) }, { signal })
  const path = input.text('output')
  if (path === undefined) {
    const text = await response.text()
    out.document({ id, format: format ?? 'md', text }, text)
    return exit.done
  }
  const body = response.body as import('node:stream/web').ReadableStream | null
  await pipeline(body ? Readable.fromWeb(body) : Readable.from([]), createWriteStream(path))
  out.document({ id, format: format ?? 'md', path }, () => [say`${path}`])
  return exit.done
}

/** Turns that are there already, the same ones, count as done. */
export const append: Handler = async ({ input, out, client, signal }) => {
  const id = input.argument('ID')
  const file = input.optional('FILE') ?? '-'
  const text = file === '-' ? (await readStdin(5_000_000))?.toString('utf8') : await readFile(file, 'utf8')
  const events = (text ?? '')
    .split('\n')
    .filter((each) => each.trim() !== '')
    .map((each, index) => {
      try {
        return JSON.parse(each)
      } catch {
        throw usage(
          `Line ${index + 1} is no JSON.`,
          'write {"type":"agent.text","payload":{"text":"…"}} in each line',
        )
      }
    })
  const answer = await (await client()).traces.append(id, { events }, { signal })
  out.document(answer, () => [])
  out.done(answer.appended > 0 ? say`${answer.appended} turns, last ${answer.lastSeq}` : say`already there`)
  return exit.done
}

export const handover: Handler = async ({ input, out, client, signal }) => {
  const note = input.text('note')
  const answer = await (await client()).handovers.create(
    input.argument('ID'),
    { ...(note !== undefined && { note }) },
    { signal },
  )
  out.document(answer, () => [say`${answer.code}`])
  out.talk(say`One use, until ${answer.expiresAt}. There: guild trace pickup ${answer.code}`)
  return exit.done
}

export const pickup: Handler = async ({ input, out, client, signal }) => {
  const answer = await (await client()).traces.pickup({ code: input.argument('CODE') }, { signal })
  out.document(answer, () => [block(answer.brief)])
  out.talk(say`${answer.traceId} · go on: guild trace continue ${answer.traceId} "…"`)
  return exit.done
}

export const brief: Handler = async ({ input, out, client, signal }) => {
  const answer = await (await client()).traces.brief(input.argument('ID'), { signal })
  out.document(answer, () => [block(answer.markdown)])
  return exit.done
}

/** Runs the skill of a trace again, on the same trace. */
export const goOn: Handler = async (context) => {
  const { input, signal } = context
  const id = input.argument('ID')
  const text = input.rest('INPUT').join(' ')
  if (text.trim() === '') throw usage('Say what it should do.', `guild trace continue ${id} "…"`)
  const client = await context.client()
  const { kind, continueWith } = await client.traces.continue(id, { signal })
  if (kind === 'chat') {
    throw new Failure({
      exitCode: exit.conflict,
      message: 'A conversation is gone on with in its thread.',
      next: ['guild chat AGENT "…" --thread ID'],
    })
  }
  const maxCost = maxCostOf(context)
  const made = await client.executions.create({ ...continueWith.body, ...origin(context) }, { signal })
  const handle = await client.executions.start(
    made.id,
    text,
    {
      ...(maxCost !== undefined && { maxCost }),
      ...(input.has('queue') && { ifBusy: 'queue' as const }),
    },
    { signal },
  )
  const folder = input.text('output')
  return follow(context, handle, {
    title: made.skill_slug,
    stops: true,
    ...(folder !== undefined && { folder }),
  })
}
