import jsonata from 'jsonata'
import type { Evaluated, Evaluation } from './evaluation.ts'

/*
 * A program: evaluates one expression after the other for the process that started it, and ends with it. Whatever an
 * expression does to this process, it is killed and replaced. It has no environment, no files but its own, and the
 * language has no functions that reach out.
 */

/** The library's own guards; what slips through between two of its steps is up to the one who waits. */
const guards = { stack: 300, sequence: 200_000 }

process.on('message', async (evaluation: Evaluation) => {
  process.send?.(await evaluate(evaluation))
})
process.on('disconnect', () => process.exit())
process.send?.('ready')

async function evaluate({ expression, data, timeoutMs, maxChars }: Evaluation): Promise<Evaluated> {
  try {
    const result = await jsonata(expression, { ...guards, timeout: timeoutMs }).evaluate(data)
    const text = JSON.stringify(result) ?? 'null'
    if (text.length > maxChars) return { problem: `the result has more than ${maxChars} characters` }
    return { text }
  } catch (error) {
    const { message, position } = error as { message?: string; position?: number }
    const place = position === undefined ? '' : ` (at character ${position})`
    return { problem: `${String(message).slice(0, 300)}${place}` }
  }
}
