import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Person } from '../../../../test/support/caller.ts'
import { createDatabase, type House, openHouse } from '../support/house.ts'

/** Read by a thread: everything that is asked of a small body is asked of it too. */
let house: House
let person: Person

beforeAll(async () => {
  house = await openHouse({ DATABASE_URL: await createDatabase() })
  person = await house.newPerson()
})

afterAll(() => house.close())

const large = 'x'.repeat(1_100_000)
const send = (body: string | object) => house.call('POST', '/api/v1/artifacts', { token: person.token, body })
const withFile = (more: string) => `{"type":"file","files":[{"path":"a.txt","content":"${large}"}]${more}}`

test('what it says is what is kept, to the character', async () => {
  const content = `\u{1F469}\u200D\u{1F52C} "quoted" \\ back\tslash \u2028 \uFEFF ${large} e\u0301`
  const made = await send({ type: 'file', files: [{ path: 'a.txt', content }] })
  expect(made.status, made.text).toBe(201)
  const kept = await house.call('GET', `/api/v1/artifacts/${made.body.id}/content?path=a.txt`, {
    token: person.token,
  })
  expect(kept.text === content).toBe(true)
  expect((await send(`\uFEFF${withFile('')}`)).status).toBe(201)
})

test.each([
  ['no JSON', withFile('').slice(0, -1), undefined],
  ['a NUL', withFile(',"name":"a\\u0000b"'), undefined],
  ['half a character', withFile(',"name":"\\ud800"'), undefined],
  ['a prototype', withFile(',"__proto__":{"a":1}'), undefined],
  ['a disguised prototype', withFile(',"__pro\\u0074o__":{"a":1}'), undefined],
  ['one value too many', withFile(`,"y":[${'1,'.repeat(5000)}1]`), 5000],
  ['too many levels', withFile(`,"y":${'['.repeat(1001)}${']'.repeat(1001)}`), 1000],
])('%s in it is refused as in a small one', async (_what, body, limit) => {
  const refused = await send(body)
  expect([refused.status, refused.body.error.code], refused.text).toEqual([400, 'INVALID_INPUT'])
  const small = await send(body.replace(large, 'x'))
  expect(refused.body).toEqual({ ...small.body, requestId: refused.body.requestId })
  expect(refused.body.error.details?.limit).toBe(limit)
})
