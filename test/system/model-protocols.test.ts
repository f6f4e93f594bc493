import { expect, test } from 'vitest'
import { spawnStack } from '../../stack/client.ts'
import { createCaller } from '../support/caller.ts'
import { bash, readLog, script } from '../support/executions.ts'
import { isProof } from '../support/sizes.ts'
import { calmStack } from './support/shared-stacks.ts'

const report = script(
  {
    say: 'I will make the report.',
    tools: [bash('python3 /skill/scripts/csv_report.py /skill/assets/orders.csv --out /workspace/output')],
  },
  // With a character that PostgreSQL keeps in no text.
  { say: 'The report is\0 in output/.' },
)

/**
 * Executions speak to the model of the deployment, and that of the stack which files share knows the first of these. In
 * the gate a program of `compose.test.ts` has a deployment that knows the other.
 */
const protocols = isProof ? ['anthropic', 'openai'] : ['anthropic']

test.each(protocols)(
  'over the protocol of %s a prepared execution runs a script of a catalog skill and hands out a chart',
  async (protocol) => {
    const own = isProof ? await spawnStack(['--protocol', protocol]) : undefined
    try {
      const app = createCaller((own ?? (await calmStack())).baseUrl)
      const person = await app.newPerson()
      const post = (path: string, body: unknown) =>
        app.call('POST', `/api/v1${path}`, { token: person.token, body })
      expect((await post('/skills/csv-report/install', {})).status).toBe(200)
      const { body } = await post('/executions', { skill_slug: 'csv-report', input: report })
      const events = [{ type: 'user.message', content: [{ type: 'text', text: report }] }]
      expect((await post(`/executions/${body.id}/events`, { events })).status).toBe(200)
      const log = await readLog(app, person, body.id)
      expect(log.at(-1)).toMatchObject({ payload: { stop_reason: { type: 'end_turn' } } })
      const chart = log.find(({ payload }) => payload['name'] === 'output/chart-1.svg')
      const url = String(chart?.payload['url'])
      expect((await app.call('GET', url, { token: person.token })).text).toContain('<svg')
    } finally {
      await own?.stop()
    }
  },
)
