import { readFile } from 'node:fs/promises'
import type { Handler } from '../command.ts'
import type { Context } from '../context.ts'
import { exit } from '../exit-codes.ts'
import { Failure, usage } from '../failure.ts'
import { say } from '../output/safe-text.ts'
import { readStdin } from '../prompt.ts'
import { attachmentsFrom } from './files.ts'
import { follow } from './follow.ts'

const mostInputBytes = 102_400

/** Runs a skill and shows what it does. */
export const run: Handler = async (context) => {
  const { input, out, signal } = context
  const slug = input.argument('SKILL')
  const text = await inputText(context)
  const attachments = await attachmentsFrom(input.texts('attach'))
  const maxCost = maxCostOf(context)
  const client = await context.client()
  const idempotencyKey = input.text('idempotency-key')
  if (input.has('hold')) {
    const held = await client.executions.create(
      {
        skill_slug: slug,
        input: text,
        ...(attachments.length > 0 && { attachments }),
        ...(maxCost !== undefined && { maxCost }),
        ...origin(context),
      },
      { signal, idempotencyKey },
    )
    out.document({ executionId: held.id }, () => [say`${held.id}`])
    out.talk(say`It waits. Start it: guild exec message ${held.id} "…"`)
    return exit.done
  }
  const handle = await client.skills.run(
    slug,
    {
      input: text,
      ...(attachments.length > 0 && { attachments }),
      ...(maxCost !== undefined && { maxCost }),
      ...(input.has('queue') && { ifBusy: 'queue' as const }),
      ...origin(context),
    },
    { signal, idempotencyKey },
  )
  if (input.has('detach')) {
    out.document({ executionId: handle.id }, () => [say`${handle.id}`])
    out.talk(say`It runs. Watch: guild exec watch ${handle.id}`)
    return exit.done
  }
  const folder = input.text('output')
  return follow(context, handle, {
    title: slug,
    stops: true,
    stopsAtOnce: input.has('cancel-on-interrupt') && context.settings.terminal,
    ...(input.has('no-deltas') && { deltas: false }),
    ...(folder !== undefined && { folder }),
  })
}

/** What the person reads in lists of what ran. */
export function origin({ settings }: Context) {
  return { source: 'cli', interface: settings.isCi ? 'ci-bot' : 'cli' }
}

/** The smaller of what the project and the person set: a cloned repository must not raise it, only a flag does. */
export function maxCostOf({ input, settings }: Context): number | undefined {
  const set = settings.config.settings['maxCost']
  const limits = [settings.project?.maxCost, set === undefined ? undefined : Number(set)]
  const known = limits.filter((limit) => limit !== undefined)
  return input.number('max-cost') ?? (known.length > 0 ? Math.min(...known) : undefined)
}

/** Words, a file with -f, or stdin with -. */
async function inputText(context: Context): Promise<string> {
  const { input } = context
  const words = input.rest('INPUT')
  const file = input.text('file')
  if (file !== undefined && words.length > 0) throw usage('Give the input as words or with -f, not both.')
  const isStdin = words.length === 1 && words[0] === '-'
  const bytes = isStdin
    ? await readStdin(mostInputBytes)
    : file !== undefined
      ? await readFile(file).catch((cause: unknown) => {
          throw usage(`${file} cannot be read: ${cause instanceof Error ? cause.message : String(cause)}`)
        })
      : Buffer.from(words.join(' '))
  if (bytes === undefined || bytes.length > mostInputBytes) {
    throw new Failure({
      exitCode: exit.notValid,
      message: `The input has more than ${mostInputBytes} bytes.`,
      next: [`guild run ${input.argument('SKILL')} "…" --attach FILE`],
    })
  }
  const text = bytes.toString('utf8')
  if (text.trim() === '') throw usage('Say what it should do.', `guild run ${input.argument('SKILL')} "…"`)
  return text
}
