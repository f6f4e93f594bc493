import { expect, test } from 'vitest'
import { callFrom, type Device, desktop, expectNoFaults, phone } from './support/app.ts'
import { addPasskey, newEmail, newPerson, origin } from './support/app-house.ts'
import { hindrancesOf } from './support/axe.ts'

/** A second device, and the days on which a passkey is gone: as the person sees it. */

const passkeys = ({ page }: Device) => page.goto(`${origin}/settings/passkeys`)
const countOf = async (device: Device) => (await callFrom(device, 'GET', '/api/v1/passkeys')).body.length

async function addWith(device: Device, code: string): Promise<void> {
  await passkeys(device)
  await device.page.getByTestId('passkey-code').fill(code)
  await device.page.getByTestId('add-with-code').click()
  await device.page.getByTestId('passkey-said').waitFor()
}

test('a code from the device with the passkey adds one on the other, once', async () => {
  const email = newEmail()
  const first = await newPerson({ shape: phone }, email)
  const second = await newPerson({ shape: desktop }, email)
  await addPasskey(first)
  await first.page.getByTestId('invite-device').click()
  const code = (await first.page.getByTestId('invite-code').textContent()) ?? ''
  await addWith(second, code.toLowerCase())
  expect(await second.page.getByTestId('passkey-said').textContent()).toBe('The passkey is added.')
  await expect.poll(() => second.page.getByTestId('passkey-row').count()).toBe(2)
  const third = await newPerson({ shape: phone }, email)
  await addWith(third, code)
  expect(await third.page.getByTestId('passkey-said').textContent()).toContain('invite')
  expect(await countOf(third)).toBe(2)
  for (const device of [first, second]) expectNoFaults(device)
})

test('recovery codes are shown once, and one of them lets in who has lost everything', async () => {
  const email = newEmail()
  const first = await newPerson({ shape: phone }, email)
  await addPasskey(first)
  await first.page.getByTestId('make-codes').click()
  await first.page.getByTestId('recovery-code').first().waitFor()
  const codes = await first.page.getByTestId('recovery-code').allTextContents()
  expect(codes).toHaveLength(10)
  expect(await hindrancesOf(first.page)).toEqual([])
  await first.page.reload()
  await first.page.getByTestId('make-codes').waitFor()
  expect(await first.page.getByTestId('recovery-code').count()).toBe(0)
  const second = await newPerson({ shape: desktop }, email)
  await addWith(second, codes[7] ?? '')
  expect(await countOf(second)).toBe(2)
  await expect.poll(() => second.page.textContent('body')).toContain('You have 9 codes left')
  expectNoFaults(first)
})

test('taking all passkeys away is said where they are, and stopped by one of them alone', async () => {
  const email = newEmail()
  const owner = await newPerson({ shape: phone }, email)
  await addPasskey(owner)
  const other = await newPerson({ shape: desktop }, email)
  await passkeys(other)
  await other.page.getByTestId('reset').click()
  await other.page.getByTestId('reset-sheet').waitFor()
  other.sent.length = 0
  await other.page.getByTestId('reset-confirm').click()
  await other.page.getByTestId('reset-under-way').waitFor()
  expect(other.sent).toEqual(['POST /api/v1/passkeys/reset'])
  expect(await hindrancesOf(other.page)).toEqual([])
  await owner.page.goto(origin)
  await owner.page.getByTestId('reset-banner').getByRole('link').click()
  await owner.page.getByTestId('reset-under-way').waitFor()
  await owner.page.getByTestId('reset-stop').click()
  await owner.page.getByTestId('reset-under-way').waitFor({ state: 'detached' })
  await owner.page.getByTestId('reset-banner').waitFor({ state: 'detached' })
  expect((await callFrom(owner, 'GET', '/api/v1/passkeys/recovery')).body.reset).toBeNull()
  expect(await countOf(owner)).toBe(1)
  expectNoFaults(owner)
})
