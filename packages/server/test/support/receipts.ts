import type { Person } from '../../../../test/support/caller.ts'
import type { House } from './house.ts'

/** Has this process make the receipts that are due. */
export async function makeReceipts(house: House): Promise<void> {
  await house.reconcilers.find(({ name }) => name === 'receipts')?.run()
}

/** Of a skill that is started where there is no engine, and so ends at once. */
export async function newReceipt(house: House, person: Person, slug: string): Promise<string> {
  const { token } = person
  await house.call('POST', `/api/v1/skills/${slug}/run`, { token, body: { input: 'Go.' } })
  const { body } = await house.call('GET', '/api/v1/executions?limit=1', { token })
  await makeReceipts(house)
  return `receipt_${body.items[0].executionId}`
}
