import { appendFileSync, readFileSync } from 'node:fs'

/** Tools of a small shop, loaded by the deployment that requests are tried on. What has an effect writes it down. */
interface Call {
  runId: string
  stepId: string
}

const orders: Record<string, { status: string; total: number }> = {
  A1: { status: 'open', total: 40 },
  A2: { status: 'shipped', total: 60 },
  A3: { status: 'open', total: 75 },
}

function note(runId: string, effect: string): void {
  const file = process.env['EFFECTS_FILE']
  // One short line in one write: lines of several processes do not mix.
  if (file) appendFileSync(file, `${JSON.stringify({ runId, effect })}\n`)
}

/** What a run did, in order. */
export function readEffects(file: string, runId: string): string[] {
  const lines = readFileSync(file, 'utf8').split('\n').filter(Boolean)
  const all = lines.map((line) => JSON.parse(line) as { runId: string; effect: string })
  return all.filter((noted) => noted.runId === runId).map(({ effect }) => effect)
}

const text = { type: 'string', minLength: 1 }
const shape = (properties: object, required = Object.keys(properties)) => ({
  type: 'object',
  properties,
  required,
  additionalProperties: false,
})
const outputOf = (output: unknown) => ({ kind: 'output', output })
const tries = new Map<string, number>()

export const tools = [
  {
    id: 'look-up-order',
    description: 'Finds an order by its number.',
    inputSchema: shape({ number: text }),
    gives: '{number, status, total}',
    quick: true,
    run: async ({ number }: { number: string }) => {
      const order = orders[number]
      if (!order) throw new Error(`There is no order ${number}`)
      return outputOf({ number, ...order })
    },
  },
  {
    id: 'send-mail',
    description: 'Sends a mail.',
    inputSchema: shape({ to: text, subject: text, text }),
    gives: '{sent}',
    quick: true,
    run: async ({ to, subject }: { to: string; subject: string }, { runId }: Call) => {
      note(runId, `mail to ${to}: ${subject}`)
      return outputOf({ sent: true })
    },
  },
  {
    id: 'job-status',
    description: 'How a job stands. Fed with its own answer it counts how often it was asked.',
    inputSchema: shape({ job: text, seen: { type: 'integer' } }, ['job']),
    gives: '{job, seen, done}',
    quick: true,
    run: async ({ job, seen = 0 }: { job: string; seen?: number }) =>
      outputOf({ job, seen: seen + 1, done: seen + 1 >= 3 }),
  },
  {
    id: 'charge',
    description: 'Charges an amount.',
    inputSchema: shape({ amount: { type: 'number' } }),
    gives: '{charged}',
    quick: true,
    run: async ({ amount }: { amount: number }, { runId, stepId }: Call) => {
      const step = `${runId} ${stepId}`
      const before = tries.get(step) ?? 0
      tries.set(step, before + 1)
      if (before < 2) throw new Error('The bank is not there')
      note(runId, `charged ${amount}`)
      return outputOf({ charged: amount })
    },
  },
]
