import { afterAll, beforeAll, expect, test } from 'vitest'
import { type OAuthHouse, openOAuthHouse, publicUrl } from '../support/oauth.ts'

/**
 * Any page can have a browser open `auth/start?browser=1`, again and again in one window; who is known at the provider
 * would be signed in anew each time, in the place of the person's other devices, whose sessions end with all that they
 * are told. So what another site begins, a person has to begin once more.
 */
let set: OAuthHouse

beforeAll(async () => {
  set = await openOAuthHouse()
})
afterAll(() => set.close())

const start = (site: string | undefined) =>
  set.house.call('GET', '/api/v1/auth/start?browser=1&return=/requests?a=b', {
    headers: site === undefined ? {} : { 'sec-fetch-site': site },
  })

test('a page of another site signs nobody in without a word', async () => {
  const answer = await start('cross-site')
  expect([answer.status, answer.headers.get('location')]).toEqual([
    302,
    `${publicUrl}/sign-in?return=%2Frequests%3Fa%3Db`,
  ])
  expect(answer.headers.getSetCookie()).toEqual([])
})

test.each(['same-origin', 'none', undefined])(
  'what comes by itself or from the app goes on (%s)',
  async (site) => {
    const answer = await start(site)
    expect(answer.status).toBe(302)
    expect(answer.headers.get('location')).not.toContain('/sign-in?')
    expect(answer.headers.getSetCookie()).toHaveLength(1)
  },
)
