import { readFileSync } from 'node:fs'
import { spawnStack } from '../stack/client.ts'
import { createCaller, type Person } from '../test/support/caller.ts'
import { pidsOf } from '../test/support/processes.ts'
import { checkBar, quantile } from './event-parts.ts'
import { readNumbers } from './options.ts'

/**
 * What a chat adds to its model: from the request to the first word, against the same script asked of the model directly,
 * by turns in one run; for one chat, and for many that each say something every two seconds. And what the engine uses for
 * a segment of a run.
 */
const { turns, chats, seconds } = readNumbers({ turns: 200, chats: 50, seconds: 20 })
const required = { oneChatMs: 40, manyChatsMs: 120, engineMs: 3 }
const everyMs = 2000
/** Clocks of processes tick a hundred times a second. */
const tickMs = 10

const stack = await spawnStack(['--workers', '2', '--limits', 'off', '--env', 'CHAT_RUNS_PER_WORKSPACE=100'])
try {
  const app = createCaller(stack.baseUrl)
  const person = await app.newPerson()
  const script = { steps: [{ say: 'A few words. ', repeatText: 8, delayMs: 5 }] }
  const message = `Please.\n\`\`\`script\n${JSON.stringify(script)}\n\`\`\``

  for (let n = 0; n < 20; n++) await Promise.all([askBare(message), chat(person, `warm-${n}`, message)])
  const [bare, ours]: [number[], number[]] = [[], []]
  for (let n = 0; n < turns; n++) {
    bare.push(await askBare(message))
    ours.push(await chat(person, `one-${n % 20}`, message))
  }
  const cpu = engineMs()
  const many = await Promise.all(Array.from({ length: chats }, (_, n) => talk(person, `many-${n}`, message)))
  const all = many.flat()
  const perSegment = (engineMs() - cpu) / all.length

  const show = (what: string, times: number[]) =>
    console.log(
      `${what}: p50 ${quantile(times, 0.5).toFixed(1)} ms, p99 ${quantile(times, 0.99).toFixed(1)} ms`,
    )
  show('the model alone, to its first word', bare)
  show('a chat, to its first word', ours)
  show(`each of ${chats} chats`, all)
  const own = quantile(bare, 0.5)
  console.log(`a chat, times the model alone: ${(quantile(ours, 0.5) / own).toFixed(2)}`)
  checkBar('one chat beyond the model, p50 in ms', quantile(ours, 0.5) - own, 'at most', required.oneChatMs)
  checkBar(
    `${chats} chats beyond the model, p99 in ms`,
    quantile(all, 0.99) - own,
    'at most',
    required.manyChatsMs,
  )
  checkBar('CPU of the engine for a segment, in ms', perSegment, 'at most', required.engineMs)
} finally {
  await stack.stop()
}

/** Asks the model itself, as a worker does; gives the time to the first word. */
async function askBare(message: string): Promise<number> {
  const body = {
    model: 'scripted',
    max_tokens: 1000,
    stream: true,
    messages: [{ role: 'user', content: message }],
  }
  const url = new URL('/v1/messages', stack.modelUrl).href
  return timeTo('text_delta', () => post(url, { 'x-api-key': 'k', 'anthropic-version': '2023-06-01' }, body))
}

function chat({ token }: Person, threadId: string, message: string): Promise<number> {
  const url = `${stack.baseUrl}/api/v1/chat/assistant`
  const body = { threadId, message, stream: true, deltas: true }
  // A part of the message, or all of it: who comes late to a quick one gets it whole.
  return timeTo('"agent.message', () => post(url, { 'x-auth-token': token }, body))
}

/** Says something every two seconds, beginning at a moment of its own. */
async function talk(person: Person, threadId: string, message: string): Promise<number[]> {
  const times: number[] = []
  const end = performance.now() + seconds * 1000
  await pause(Math.random() * everyMs)
  while (performance.now() < end) {
    const begun = performance.now()
    times.push(await chat(person, threadId, message))
    await pause(Math.max(0, everyMs - (performance.now() - begun)))
  }
  return times
}

/** From the request to that word, in milliseconds; the rest of the answer is read and left alone. */
async function timeTo(word: string, ask: () => Promise<Response>): Promise<number> {
  const begun = performance.now()
  const response = await ask()
  if (!response.ok) throw new Error(`answered ${response.status} ${await response.text()}`)
  let text = ''
  let at: number | undefined
  for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    text += chunk
    if (at === undefined && text.includes(word)) at = performance.now()
  }
  if (at === undefined) throw new Error(`no ${word} in ${text.slice(-500)}`)
  return at - begun
}

function post(url: string, headers: Record<string, string>, body: object): Promise<Response> {
  return fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  })
}

/** The engine's time on a processor so far. */
function engineMs(): number {
  const fields = readFileSync(`/proc/${pidsOf(stack.dir).restate}/stat`, 'utf8')
    .split(') ')
    .at(-1)
    ?.split(' ')
  return (Number(fields?.[11]) + Number(fields?.[12])) * tickMs
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
