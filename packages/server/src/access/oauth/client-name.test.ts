import { expect, test } from 'vitest'
import { toPrintable } from '#platform/printable.ts'
import { nameProblem } from './client-name.ts'

/** Letters and marks by their category, which no font shows: a name of nothing, or one that reads like another's. */
const unseen = ['\u3164', '\uffa0', '\u115f', '\u1160', '\u034f', '\u17b4', '\u{e0100}']

test.each(unseen)('an app is not called by what is not seen (%j)', (character) => {
  expect(nameProblem(character)).toBeDefined()
  expect(nameProblem(`Guild${character}hall`)).toBeDefined()
})

test.each(unseen)('nor is anybody shown it (%j)', (character) => {
  expect(toPrintable(`Ann${character}a`, 80)).not.toContain(character)
})
