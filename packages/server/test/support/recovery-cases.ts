import type { Person } from '../../../../test/support/caller.ts'
import { assertFor, givePasskey } from './passkeys.ts'
import { asPerson, by, type Make, type Stage } from './writing-stage.ts'

/** By a person with a passkey, who signs with it for this purpose. */
const signedFor = (
  purpose: string,
  before: (stage: Stage, person: Person) => Promise<unknown> = async () => {},
): Make =>
  asPerson(async (stage, person) => {
    const { authenticator } = await givePasskey(stage.house, person)
    await before(stage, person)
    return { body: { device_auth: await assertFor(stage.house, person, authenticator, { purpose }) } }
  })

export const recoveryCases: Record<string, Make> = {
  invitePasskey: signedFor('invite'),
  createRecoveryCodes: signedFor('recovery-codes'),
  resetPasskeys: asPerson(async ({ house }, person) => {
    await givePasskey(house, person)
    return {}
  }),
  cancelPasskeyReset: signedFor('cancel-reset', (stage, person) =>
    by(stage, person)('POST', '/passkeys/reset'),
  ),
}
