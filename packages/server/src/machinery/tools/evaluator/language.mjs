import { createRequire } from 'node:module'
import { builtIns } from './built-ins.mjs'
import { freezeDeep, freezeIntrinsics } from './freeze.mjs'
import { installLinearRegExp, LinearRegExp } from './linear-regexp.mjs'

/** @type {typeof import('jsonata')} */
const jsonata = createRequire(import.meta.url)('jsonata')

/** The library's own guards; what slips through between two of its steps is up to the one who waits. */
const guards = { stack: 300, sequence: 200_000 }

for (const builtIn of await jsonata(`[${builtIns.map((name) => `$${name}`).join(', ')}]`).evaluate(null)) {
  for (const [name, value] of Object.entries(builtIn)) {
    freezeDeep(value)
    Object.defineProperty(builtIn, name, { writable: false })
  }
  // The library notes on the function itself where it is called, for its messages.
  Object.seal(Object.assign(builtIn, { token: undefined, position: undefined }))
}
// After the library has built what is its own: those patterns are fixed, and the language's engine is faster.
installLinearRegExp()
freezeIntrinsics()

/**
 * @param {import('../evaluation.ts').Evaluation} evaluation
 * @returns {Promise<import('../evaluation.ts').Evaluated>}
 */
export async function evaluate({ expression, data, timeoutMs, maxChars }) {
  try {
    const options = { ...guards, timeout: timeoutMs, RegexEngine: LinearRegExp }
    const result = await jsonata(expression, /** @type {object} */ (options)).evaluate(data)
    const text = JSON.stringify(result) ?? 'null'
    if (text.length > maxChars) return { problem: `the result has more than ${maxChars} characters` }
    return { text }
  } catch (error) {
    const { message, position } = /** @type {{ message?: unknown, position?: unknown }} */ (error ?? {})
    const place = typeof position === 'number' ? ` (at character ${position})` : ''
    return { problem: `${String(message).slice(0, 300)}${place}` }
  }
}
