import type { Toolbox } from '#machinery/tools/tools.ts'
import type { Grants } from '#operations/grants.ts'
import type { Perform } from '#operations/perform.ts'
import type { Principal } from '#operations/principal.ts'
import type { Bus } from '#platform/bus.ts'
import type { Deps } from '#platform/deps.ts'
import type { Credential } from './tool.ts'

/** What tools are made of, in whichever process a run is. */
export interface ToolsetParts
  extends Pick<Deps, 'config' | 'database' | 'rateWindows' | 'logger' | 'stopping'> {
  readonly bus: Bus
  readonly toolbox: Toolbox
  readonly grants: Grants
  readonly perform: Perform
  /** Whose a credential is and what it may do, at this moment. Undefined once it has ended. */
  loadPrincipal(credential: Credential, workspaceId: string, userId: string): Promise<Principal | undefined>
}
