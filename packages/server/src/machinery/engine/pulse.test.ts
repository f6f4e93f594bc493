import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { watchPulse } from './pulse.ts'

const beats = async () => true
const refused = async () => Promise.reject(new Error('nobody there'))
const brokenOff = async () => {
  await delay(500)
  throw new Error('the attempt was broken off')
}

function pulseOf(...answers: (() => Promise<boolean>)[]) {
  return watchPulse(async () => (answers.shift() ?? refused)())
}

test('a worker that hangs makes some beats break off, and the others are believed', async () => {
  const isAlive = pulseOf(beats, brokenOff)
  expect(await isAlive()).toBe(true)
  expect(await isAlive()).toBe(true)
})

test('one refusal may be a worker that has just ended: the next one is asked', async () => {
  expect(await pulseOf(refused, beats)()).toBe(true)
})

test('where nobody is at all, earlier beats do not count', async () => {
  const isAlive = pulseOf(beats, refused, refused)
  expect(await isAlive()).toBe(true)
  expect(await isAlive()).toBe(false)
})

test('without any beat before, one that is broken off is none', async () => {
  expect(await pulseOf(brokenOff)()).toBe(false)
})
