/**
 * How long an answer to "who is it, and may they" is taken for true without asking again. What is admitted rests on a
 * credential that was looked up a while before, so the two add up: together they stay under the second within which whatever
 * ended brings nothing about any more, with Redis or without.
 */
export const lookedUpForMs = 500

/** Of a call that was let in, until its effect. */
export const admittedForMs = 400
