import { asPerson, by, type Make } from './writing-stage.ts'

export const keyCases: Record<string, Make> = {
  createKey: asPerson(async ({ mark }) => ({
    body: {
      label: mark,
      access: 'declared',
      scopes: ['agent:list'],
      expiresAt: '2040-01-01T00:00:00Z',
      spendLimit: 5,
    },
  })),
  updateKey: asPerson(async ({ house, mark }, person) => ({
    params: { id: String((await house.newKey(person)).id) },
    body: { label: mark, expiresAt: '2040-01-01T00:00:00Z', spendLimit: 5 },
  })),
  rotateKey: asPerson(async ({ house }, person) => ({
    params: { id: String((await house.newKey(person)).id) },
    body: {},
  })),
  revokeKey: asPerson(async ({ house }, person) => ({
    params: { id: String((await house.newKey(person)).id) },
  })),
  revokeOwnKey: asPerson(async ({ house }, person) => ({ key: (await house.newKey(person)).secret })),
  reportLeakedKey: async ({ house, newPerson }) => ({
    body: { key: (await house.newKey(await newPerson())).secret },
  }),
  endGrant: asPerson(async (stage, person) => {
    const { id, secret: key } = await stage.house.newKey(person, { scopes: ['agent:list'] })
    const asking = { scope: 'profile:read', mode: 'session', reason: stage.mark }
    const asked = await stage.house.call('POST', '/api/v1/agents/request-permission', { key, body: asking })
    await by(stage, person)('POST', `/agents/request-permission/${asked.body.request_id}/approve`, {})
    const { grants } = await by(stage, person)('GET', `/keys/${id}`)
    return { params: { id: String(id), grantId: String(grants[0].id) } }
  }),
  revokeKeys: asPerson(async ({ house }, person) => ({
    body: { ids: [(await house.newKey(person)).id, (await house.newKey(person)).id], stopRunning: true },
  })),
}
