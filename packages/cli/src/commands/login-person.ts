import { Guildhall } from '@guildhall/sdk'
import { commonOptions } from '../client.ts'
import type { Context } from '../context.ts'
import { keepSession, noKeyring } from '../credentials/kept-session.ts'
import { probeKeyring } from '../credentials/keyring.ts'
import { type ExitCode, exit } from '../exit-codes.ts'
import { say } from '../output/safe-text.ts'
import { signIn } from '../person.ts'

/** A working day: whatever runs as the person can use it meanwhile. */
const keptSeconds = 12 * 3600

/** A person's sign-in: to see that it works, or, with --keep, for the commands that follow. */
export async function loginPerson(context: Context, baseUrl: string): Promise<ExitCode> {
  const { input, settings, out } = context
  const keeps = input.has('keep')
  // Before anybody signs in: a session that cannot be kept is not asked for.
  if (keeps && !(await probeKeyring())) throw noKeyring()
  if (keeps) {
    out.warn(
      say`Your session will be kept in this computer's keyring. Whatever runs as you can then do what you can, wherever no passkey is asked for.`,
    )
  }
  const {
    auth_token: token,
    expires_at: expiresAt,
    user,
  } = await signIn(context, baseUrl, keeps ? { lifetimeSeconds: keptSeconds } : {})
  if (keeps) await keepSession(settings, { token, baseUrl, expiresAt })
  else {
    const person = new Guildhall({ ...commonOptions(context, baseUrl), authToken: token })
    context.atEnd.push(async () => {
      await person.session.signOut().catch(() => {})
    })
  }
  const { email, name } = user
  out.document(
    { status: 'approved', person: { email, name }, kept: keeps, expiresAt: keeps ? expiresAt : null },
    () => [],
  )
  out.done(
    keeps
      ? say`Signed in as ${email ?? name} until ${expiresAt}. Forget it: guild logout`
      : say`You can sign in as ${email ?? name}. Nothing was kept: each command for people signs in by itself.`,
  )
  return exit.done
}
