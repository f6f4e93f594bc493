// Loaded into every process of the stack before its own code, so that tests can move what it takes for the time.
import { readFileSync } from 'node:fs'

const file = process.env['CLOCK_FILE']
const readEveryMs = 20
const realNow = Date.now
let ahead = 0
let readAt = Number.NEGATIVE_INFINITY

if (file) {
  Date.now = () => {
    if (performance.now() - readAt > readEveryMs) {
      ahead = readAhead(file)
      readAt = performance.now()
    }
    return realNow() + ahead
  }
}

function readAhead(from: string): number {
  try {
    return Number(readFileSync(from, 'utf8')) || 0
  } catch {
    return 0
  }
}
