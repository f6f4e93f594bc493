import { type AskOptions, askForScopes, connect, waitForPermission } from '../asking.ts'
import { getAgentSelf, Permissions as Printed } from '../generated/permissions.ts'

export { PermissionDeniedError, PermissionTimeoutError } from '../helper-errors.ts'

/** What a key may do, and asking people for more. */
export class Permissions extends Printed {
  /** Sees to it that the key holds these scopes: asks for those it lacks, and waits for the person. */
  async ensure(scopes: readonly string[], options: AskOptions = {}): Promise<void> {
    const { scopes: held } = await this.client.call(getAgentSelf, {}, { signal: options.signal })
    const missing = scopes.filter((scope) => !held.some((grant) => covers(grant.scope, scope)))
    await askForScopes(this.client, missing, options)
  }

  /** Declares the scopes a new key needs, on one card, and waits for the person. */
  connect(scopes: readonly string[], options?: AskOptions): Promise<void> {
    return connect(this.client, scopes, options)
  }

  /** Goes on waiting for a question that was asked before. */
  wait(requestId: string, options?: AskOptions): Promise<void> {
    return waitForPermission(this.client, requestId, options)
  }
}

/** A scope covers all that begin with its words; a star covers everything. */
function covers(held: string, wanted: string): boolean {
  return held === '*' || held === wanted || wanted.startsWith(`${held}:`)
}
