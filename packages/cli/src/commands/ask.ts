import { readFile } from 'node:fs/promises'
import type { Handler } from '../command.ts'
import type { Context } from '../context.ts'
import { type ExitCode, exit } from '../exit-codes.ts'
import { Failure, usage } from '../failure.ts'
import type { Input } from '../input.ts'
import { say } from '../output/safe-text.ts'
import { askLine } from '../prompt.ts'
import { type AskAnswer, askPerson } from './person-ask.ts'
import { waitFor } from './waiting.ts'

type Kind = 'allow' | 'deny' | 'answer'

/** A question of the agent's own, answered on the person's phone or right here, whichever is first. */
export const ask: Handler = async (context) => {
  const { input, settings, out, signal } = context
  const resumed = input.text('resume')
  const client = await context.client()
  if (resumed) {
    const answer = await waitFor(context, {
      words: say`Waiting for a person to answer ${resumed}`,
      waitMs: settings.waitMs,
      poll: (wait) => client.asks.poll(resumed, { wait }, { signal }),
      isOver: ({ status }) => status !== 'pending',
    })
    return verdict(context, answer ?? { status: 'pending' })
  }
  const question = input.optional('QUESTION')
  if (!question) throw usage('Say what to ask.', 'guild ask "Push to main?" --action "git push origin main"')
  const body = { question, ...(await detailsOf(input)) }
  if (input.has('no-wait')) {
    const asked = await client.asks.create(body, { signal })
    const next = `guild ask --resume ${asked.ask_id}`
    out.document({ ...asked, next: [next] }, () => [say`${asked.ask_id}`])
    out.talk(say`Asked: ${asked.approval_url}. Next: ${next}`)
    return exit.done
  }
  const answer = await askPerson(context, client, {
    body,
    waitMs: settings.waitMs,
    words: (url) => say`Asked: ${url}. Waiting for a person`,
    ...(settings.mayPrompt &&
      body.choices === undefined && { answeredHere: (end) => answeredHere(end, context) }),
  })
  return verdict(context, answer)
}

async function answeredHere(end: AbortSignal, { signal }: Context): Promise<AskAnswer> {
  for (;;) {
    const line = await askLine('Or answer here, y or n: ', AbortSignal.any([end, signal]))
    if (/^y(es)?$/i.test(line)) return { status: 'answered' }
    if (/^no?$/i.test(line)) return { status: 'denied', deny_reason: 'Said at the terminal' }
  }
}

async function detailsOf(input: Input) {
  const summary = input.text('action')
  const file = input.text('action-file')
  const schema = input.text('schema')
  const choices = input.texts('choice').map(choiceOf)
  return {
    ...(summary !== undefined && {
      action: { summary: summary.slice(0, 500), tool: 'command', args: { command: summary } },
    }),
    ...(file !== undefined && { action: await jsonFile(file) }),
    ...(schema !== undefined && { schema: await jsonFile(schema) }),
    ...(choices.length > 0 && { choices }),
  }
}

/** `id=Label` allows; `deny:id=Label` says no; `answer:id=Label` needs an answer. */
function choiceOf(text: string): { id: string; label: string; kind: Kind } {
  const match = /^(?:(allow|deny|answer):)?([^=]{1,64})=(.{1,200})$/s.exec(text)
  if (!match) throw usage(`A choice is id=Label or deny:id=Label, not "${text}".`)
  return { kind: (match[1] as Kind | undefined) ?? 'allow', id: match[2] ?? '', label: match[3] ?? '' }
}

function verdict({ out }: Context, answer: AskAnswer): ExitCode {
  if (answer.status === 'answered') {
    out.document(answer, () => [say`${answer.choice ?? 'yes'}`])
    return exit.done
  }
  if (answer.status === 'denied') {
    throw new Failure({
      exitCode: exit.notAllowed,
      message: answer.deny_reason ? `No: "${answer.deny_reason}"` : 'The person said no.',
      code: 'DENIED',
      details: answer,
      next: ['do it another way, or ask again with a reason'],
    })
  }
  throw new Failure({
    exitCode: exit.waits,
    message: answer.status === 'withdrawn' ? 'The ask was taken back.' : 'Nobody has answered.',
    details: answer,
    next: ['ask again with a longer --wait'],
  })
}

async function jsonFile(path: string) {
  try {
    return JSON.parse(await readFile(path, 'utf8'))
  } catch (cause) {
    throw new Failure({
      exitCode: exit.notValid,
      message: `${path} cannot be read as JSON: ${cause instanceof Error ? cause.message : String(cause)}`,
      next: [`cat ${path}`],
      cause,
    })
  }
}
