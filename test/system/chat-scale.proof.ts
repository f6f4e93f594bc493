import { expect, test } from 'vitest'
import { measureWaitingChats } from '../chaos/waiting-chats.ts'

/** The short form of `npm run scale:chats`; memory and pace are for a quiet machine to tell. */
test('two hundred runs that wait for a person hold nothing, and go on when many are decided at once', {
  timeout: 180_000,
}, async () => {
  const { violations, figures } = await measureWaitingChats({ waiting: 200, people: 4, decided: 100 })
  console.log(JSON.stringify(figures))
  expect(violations).toEqual([])
})
