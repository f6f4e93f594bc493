import { randomInt } from 'node:crypto'

/** The number that an agent shows, and the three among which the person finds it; always the same, in one order. */
export interface NumberMatch {
  readonly match: string
  readonly choices: string[]
}

const howMany = 3

/** Of two digits each, so that nobody has to look closely, and no two alike. */
export function drawNumbers(): NumberMatch {
  const drawn = new Set<string>()
  while (drawn.size < howMany) drawn.add(String(randomInt(10, 100)))
  const choices = [...drawn]
  return { match: choices[randomInt(howMany)] ?? '', choices }
}
