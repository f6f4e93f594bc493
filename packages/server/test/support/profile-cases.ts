import { createECDH, randomBytes } from 'node:crypto'
import type { Person } from '../../../../test/support/caller.ts'
import { asPerson, by, type Make, type Stage } from './writing-stage.ts'

/** What a browser gives of itself; its address is one of a push service that is never written to here. */
function subscriptionOf({ userId }: Person) {
  const point = createECDH('prime256v1').generateKeys()
  return {
    endpoint: `https://fcm.googleapis.com/fcm/send/${userId}`,
    keys: { p256dh: point.toString('base64url'), auth: randomBytes(16).toString('base64url') },
  }
}

export async function newSubscription(stage: Pick<Stage, 'house'>, person: Person): Promise<string> {
  const { token } = person
  const body = subscriptionOf(person)
  return (await stage.house.call('PUT', '/api/v1/push/subscriptions', { token, body })).body.id
}

export const profileCases: Record<string, Make> = {
  updateProfile: asPerson(async ({ mark }) => ({
    body: { name: mark, bio: mark, timezone: 'Europe/Berlin', facts: { likes: mark } },
  })),
  subscribePush: asPerson(async ({ mark }, person) => ({ body: { ...subscriptionOf(person), label: mark } })),
  removePushSubscription: asPerson(async (stage, person) => ({
    params: { id: await newSubscription(stage, person) },
  })),
  testPushSubscription: asPerson(async (stage, person) => ({
    params: { id: await newSubscription(stage, person) },
  })),
  updateNotificationSettings: asPerson(async () => ({
    body: {
      approvals: 'sensitive',
      questions: false,
      budget: false,
      quiet: { from: '22:00', to: '07:00', timezone: 'Europe/Berlin', except: ['budget'] },
      digest: { at: '08:00', timezone: 'Europe/Berlin' },
      muted: [{ apiKeyId: 7, until: '2040-01-01T00:00:00Z' }],
    },
  })),
  storeProviderKey: asPerson(
    async () => ({
      params: { provider: 'anthropic' },
      body: { apiKey: 'a-key-of-theirs', baseUrl: 'http://127.0.0.1:9/' },
    }),
    'byokmode',
  ),
  removeProviderKey: asPerson(async (stage, person) => {
    await by(stage, person)('PUT', '/profile/provider-keys/anthropic', { apiKey: 'a-key-of-theirs' })
    return { params: { provider: 'anthropic' } }
  }, 'byokmode'),
}
