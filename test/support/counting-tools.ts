import { appendFileSync, readFileSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'

/** Tools that write down every call, loaded by a deployment under test; COUNT_FILE says where. */
interface Call {
  runId: string
  stepId: string
  idempotencyKey: string
}

/** A call as it was written down, with the process that made it and the time of the clock. */
export interface NotedCall extends Call {
  pid: number
  at: number
}

const note = (call: Call) => {
  const file = process.env['COUNT_FILE']
  // One short line in one write: lines of several processes do not mix.
  if (file)
    appendFileSync(file, `${call.runId} ${call.stepId} ${call.idempotencyKey} ${process.pid} ${Date.now()}\n`)
}

function counting(id: string, quick: boolean, lastsMs: number) {
  return {
    id,
    description: 'Writes down that it was called and gives its input back.',
    inputSchema: {},
    quick,
    run: async (input: unknown, call: Call) => {
      note(call)
      await setTimeout(lastsMs)
      return { kind: 'output', output: input }
    },
  }
}

export const tools = [
  counting('count', true, 5),
  counting('count-slowly', false, 150),
  counting('count-long', true, 1500),
  // Nobody knows whether a second call of it would have a second effect.
  { ...counting('count-once', true, 5), isKeyed: false },
]

/** Every call in the order in which they were begun. */
export function readCalls(file: string): NotedCall[] {
  const lines = readFileSync(file, 'utf8').split('\n').filter(Boolean)
  return lines.map((line) => {
    const [runId = '', stepId = '', idempotencyKey = '', pid, at] = line.split(' ')
    return { runId, stepId, idempotencyKey, pid: Number(pid), at: Number(at) }
  })
}
