import { expect, test } from 'vitest'
import { clientFacts } from './client-facts.ts'

/** Letters and marks by their category, which no font shows. */
const unseen = ['\u3164', '\uffa0', '\u115f', '\u1160', '\u034f', '\u17b4', '\u{e0100}']

test.each(unseen)('a device that wants to be paired is not called by what is not seen (%j)', (character) => {
  const label = Buffer.from(`Claude${character}`).toString('latin1')
  const client = { label, userAgent: 'honest/1.0', address: '127.0.0.1', via: 'http' } as const
  expect(clientFacts(client as never).label).toBe('honest')
})
