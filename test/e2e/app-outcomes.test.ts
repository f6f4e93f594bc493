import { expect, test } from 'vitest'
import { isProof, patienceFor } from '../support/sizes.ts'
import { callFrom, type Device, expectNoFaults } from './support/app.ts'
import {
  api,
  ask,
  askInWorkflow,
  looked,
  mustCall,
  newAgent,
  newEmail,
  newPerson,
  origin,
  setAhead,
} from './support/app-house.ts'

interface Asked {
  readonly id: string
  /** Of who asks, where it is a key. */
  readonly keyId?: number
}

interface Kind {
  ask(device: Device): Promise<Asked>
  /** What it is refused with, other than the route of the inbox. */
  readonly denyAt?: string
  /** What cannot become of it. */
  readonly never?: readonly Outcome[]
}

type Outcome = 'allowed' | 'denied' | 'denied with a reason' | 'expired' | 'decided elsewhere' | 'key revoked'

const full = { access: 'full' }
const scripted = (...steps: object[]) => `Please.\n\`\`\`script\n${JSON.stringify({ steps })}\n\`\`\``

async function must(key: string, path: string, body: object) {
  const answer = await api.call('POST', `/api/v1${path}`, { key, body })
  expect(answer.status, answer.text).toBeLessThan(300)
  return answer.body
}

/** The one request of a kind that waits for somebody who had none. */
async function waiting(device: Device, kind: string): Promise<string> {
  let id: string | undefined
  const path = `/api/v1/approvals?kind=${kind}&status=pending`
  await expect
    .poll(async () => (id = (await mustCall(device, 'GET', path)).items[0]?.id), { timeout: 20_000 })
    .toBeDefined()
  return id ?? ''
}

async function askForBudget(device: Device): Promise<Asked> {
  const { id: keyId, key } = await newAgent(device, 'Spender', { ...full, spendLimit: 0.01 })
  const content = '---\nname: errand\ndescription: Runs an errand when asked to.\n---\nRun the errand.\n'
  const files = [{ path: 'SKILL.md', content }]
  const artifact = await mustCall(device, 'POST', '/api/v1/artifacts', { type: 'skill', files })
  await mustCall(device, 'POST', '/api/v1/skills/errand/install', { artifactId: artifact.id })
  await must(key, '/skills/errand/run', { input: scripted({ say: 'Done.' }) })
  return { id: await waiting(device, 'budget'), keyId }
}

const kinds: Record<string, Kind> = {
  permission: {
    denyAt: '/agents/request-permission',
    ask: async (device) => {
      const { id: keyId, key } = await newAgent(device)
      return { id: await ask(key, { scope: 'profile:read' }), keyId }
    },
  },
  consent: {
    denyAt: '/agents/connect',
    ask: async (device) => {
      const { id: keyId, key } = await newAgent(device)
      const asked = await must(key, '/agents/connect', { requestedScopes: ['profile:read'] })
      return { id: asked.consent_id, keyId }
    },
  },
  ask: {
    ask: async (device) => {
      const { id: keyId, key } = await newAgent(device)
      return { id: (await must(key, '/agents/ask', { question: 'Now?' })).ask_id, keyId }
    },
  },
  'approval of a workflow': {
    never: ['expired', 'key revoked'],
    ask: async (device) => ({ id: await askInWorkflow(device) }),
  },
  'question of a workflow': {
    never: ['denied', 'denied with a reason', 'decided elsewhere', 'expired', 'key revoked'],
    ask: async (device) => ({ id: await askInWorkflow(device, undefined, 'ask-human') }),
  },
  budget: { ask: askForBudget, never: ['expired'] },
}

const status = {
  allowed: 'granted',
  denied: 'denied',
  'denied with a reason': 'denied',
  expired: 'expired',
  'decided elsewhere': 'denied',
  'key revoked': 'expired',
} as const
const title = {
  allowed: 'Allowed',
  denied: 'Denied',
  'denied with a reason': 'Denied',
  expired: 'Expired',
  'decided elsewhere': 'Denied by you',
  'key revoked': 'Expired',
} as const

const day = 24 * 3600

/** Brings the outcome about while the card is open on a page. */
const act: Record<Outcome, (one: Device, other: Device, asked: Asked, kind: Kind) => Promise<unknown>> = {
  allowed: async ({ page }) => {
    const answer = page.getByTestId('answer')
    if ((await page.getByTestId('allow').isDisabled()) && (await answer.count()) > 0) await answer.fill('yes')
    await looked(page)
    await page.getByTestId('allow').click()
  },
  denied: ({ page }) => page.getByTestId('deny').click(),
  'denied with a reason': async ({ page }) => {
    await page.getByTestId('deny-reason-open').click()
    await page.getByTestId('deny-reason-text').fill('Not before Monday')
    await page.getByTestId('deny-reason-send').click()
  },
  'decided elsewhere': (_one, other, { id }, { denyAt = '/approvals' }) =>
    mustCall(other, 'POST', `/api/v1${denyAt}/${id}/deny`, {}),
  'key revoked': (_one, other, { keyId }) => mustCall(other, 'DELETE', `/api/v1/keys/${keyId}`),
  // Last: when the clock is put right, it waits again.
  expired: async ({ page }) => {
    await setAhead(8 * day)
    await page.reload()
  },
}

/** The gate sees every kind and every outcome, and half of the pairs. */
const isSeen = (kind: Kind, outcome: Outcome) =>
  isProof || (Object.values(kinds).indexOf(kind) + Object.keys(act).indexOf(outcome)) % 2 === 0

test.each(Object.entries(kinds))('what becomes of a card is what the page says: %s', async (_name, kind) => {
  const email = newEmail()
  const [one, other] = [await newPerson({}, email), await newPerson({}, email)]
  const { page } = one
  for (const outcome of Object.keys(act) as Outcome[]) {
    if (kind.never?.includes(outcome) || !isSeen(kind, outcome)) continue
    const asked = await kind.ask(one)
    await page.goto(`${origin}/approvals/${asked.id}`)
    await page.getByTestId('allow').waitFor()
    try {
      await act[outcome](one, other, asked, kind)
      const banner = page.locator(`[data-testid=decided-banner][data-state=${status[outcome]}]`)
      await banner.waitFor({ timeout: patienceFor(10_000) })
      // Both at once: it does not stay.
      const [heading, text] = await Promise.all([
        banner.getByRole('heading').textContent(),
        banner.textContent(),
      ])
      expect(heading, outcome).toBe(title[outcome])
      const { body } = await callFrom(one, 'GET', `/api/v1/approvals/${asked.id}`)
      expect(body.status, outcome).toBe(status[outcome])
      if (outcome === 'denied with a reason' && body.deny_reason !== null)
        expect(text).toContain(body.deny_reason)
    } finally {
      if (outcome === 'expired') await setAhead(0)
    }
  }
  expectNoFaults(one)
})

const pairings = {
  allowed: ['paired', 'granted', ({ page }: Device) => page.getByTestId('pair-approve').click()],
  denied: ['denied', 'denied', ({ page }: Device) => page.getByTestId('pair-deny').click()],
  'allowed elsewhere': [
    'pairedElsewhere',
    'granted',
    (_one: Device, other: Device, code: string) =>
      mustCall(other, 'POST', '/api/v1/activate/confirm', { code, access: 'declared' }),
  ],
  'denied elsewhere': [
    'deniedElsewhere',
    'denied',
    (_one: Device, other: Device, code: string) => mustCall(other, 'POST', '/api/v1/activate/deny', { code }),
  ],
  expired: ['over', 'expired', () => setAhead(day)],
} as const

test('what becomes of a pairing is what the page says', async () => {
  const email = newEmail()
  const [one, other] = [await newPerson({}, email), await newPerson({}, email)]
  const { page } = one
  for (const [outcome, [state, expected, decide]] of Object.entries(pairings)) {
    const { userCode } = await api.newCode()
    const path = `/api/v1/activate/lookup?code=${userCode}`
    const { approval_id: id } = (await callFrom(one, 'GET', path)).body
    await page.goto(`${origin}/pair/${userCode}`)
    if (outcome === 'expired') await decide(one, other, userCode)
    await page.getByTestId('pair-lookup').click()
    if (outcome !== 'expired') {
      await page.getByTestId('pair-review').waitFor()
      await looked(page)
      await decide(one, other, userCode)
    }
    await page
      .locator(`[data-testid=decided-banner][data-state=${state}]`)
      .waitFor({ timeout: patienceFor(10_000) })
    const { body } = await callFrom(one, 'GET', `/api/v1/approvals/${id}`)
    await setAhead(0)
    expect(body.status, outcome).toBe(expected)
  }
  expectNoFaults(one)
})
