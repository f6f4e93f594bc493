import { afterAll, beforeAll, expect, test } from 'vitest'
import { openPushStage, type PushStage } from '../support/pushes.ts'

let stage: PushStage

beforeAll(async () => {
  stage = await openPushStage()
})
afterAll(() => stage?.close())

/**
 * An agent asks and takes back, all day, while its person is quiet. One message is kept for each browser; it is written
 * anew, and found anew by every id in it, with each request, by the one worker that tells everybody's browsers.
 */
test('what waits for the end of quiet hours does not grow with what nobody can decide any more', async () => {
  const { house } = stage
  const person = await house.newPerson()
  const key = await house.newKey(person, { scopes: ['agent:list'] })
  await stage.newBrowser(person)
  const hours = { from: '00:00', to: '23:59', timezone: 'UTC', except: [] }
  const quiet = await house.call('PATCH', '/api/v1/profile/notifications', {
    token: person.token,
    body: { quiet: hours },
  })
  expect(quiet.status, quiet.text).toBe(200)
  for (let round = 0; round < 40; round++) {
    const body = { question: `Question ${round}?` }
    const asked = await house.call('POST', '/api/v1/agents/ask', { key: key.secret, body })
    expect(asked.status, asked.text).toBe(202)
    await stage.send()
    const path = `/api/v1/agents/ask/${asked.body.ask_id}/withdraw`
    expect((await house.call('POST', path, { key: key.secret })).status).toBe(200)
    await stage.send()
  }
  const kept = await house.deps.database.db.selectFrom('push_messages').select('approval_ids').execute()
  const ids = kept.flatMap(({ approval_ids }) => approval_ids)
  // A key can have five that wait.
  expect(ids.length).toBeLessThanOrEqual(5)
})
