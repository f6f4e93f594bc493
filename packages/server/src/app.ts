import { mcpDoor } from '@guildhall/contract'
import { findRecentDenial } from '#access/approvals/approvals.ts'
import { createGrants } from '#access/consent/consent.ts'
import { findLiveKeys } from '#access/keys/keys.ts'
import { authorizationServer, findLiveGrants } from '#access/oauth/oauth.ts'
import { findLiveSessions } from '#accounts/sessions/sessions.ts'
import { listSummaries } from '#library/skills/skills.ts'
import { admit } from '#operations/admit.ts'
import { toOperations } from '#operations/operation.ts'
import { createPerform, exactRequest, type Perform } from '#operations/perform.ts'
import { Bus } from '#platform/bus.ts'
import type { Deps } from '#platform/deps.ts'
import type { Reconciler } from '#platform/reconcile.ts'
import type { Sweep } from '#platform/sweep.ts'
import { findMark } from '#running/executions/executions.ts'
import { findVersion } from '#running/runs/runs.ts'
import { findAddressee } from '#running/threads/threads.ts'
import { Streams } from '#streams/streams.ts'
import type { Authenticators } from '#transports/http/authenticate.ts'
import { createServer, type Server } from '#transports/http/server.ts'
import { type Catalogue, mcpRoutes } from '#transports/mcp/mcp.ts'
import { Sockets } from '#transports/sockets/sockets.ts'
import { createPages, reportRoute } from '#transports/web/web.ts'
import { bindFeatures, type Checks, createChecks, principalLoader } from './features.ts'

/** Puts the API together. Tests of the MCP wire give it another catalogue. */
export function createApp(
  deps: Deps,
  options: { mcpCatalogue?: Catalogue | undefined } = {},
): {
  server: Server
  perform: Perform
  authenticators: Authenticators
  sweeps: readonly Sweep[]
  reconcilers: readonly Reconciler[]
  bus: Bus
  sockets: Sockets
} {
  const checks = createChecks(deps)
  const bus = new Bus(deps)
  const sockets = createSockets(deps, bus, checks)
  const streams = new Streams({ ...deps, sockets })
  const { routes, sweeps, reconcilers } = bindFeatures(deps, checks, bus, streams)
  const grants = createGrants(deps)
  const operations = toOperations(routes, bus)
  const { keys, sessions, oauth } = checks
  const authenticators: Authenticators = {
    key: (secret, address, anew) => keys.authenticate(secret, address, anew),
    session: (token, kind) => sessions.authenticateAs(kind, token),
    enterWorkspace: (session, workspaceId) => sessions.enterWorkspace(session, workspaceId),
    oauth: (token) => oauth.authenticate(token),
  }
  const perform = createPerform({ deps, grants, operations })
  const mcp = mcpRoutes(
    {
      ...deps,
      bus,
      perform,
      loadPrincipal: principalLoader(checks),
      admitAgain: async (principal) => {
        await admit(grants, mcpDoor, {
          principal,
          via: 'mcp',
          params: {},
          request: exactRequest(mcpDoor, {}),
        })
      },
      findRecentDenial: (keyId, scope) => findRecentDenial(deps.database.db, keyId, scope),
      findAddressee: (workspaceId, threadId) => findAddressee(deps.database.db, workspaceId, threadId),
      findMark: async (kind, workspaceId, id) => {
        if (kind === 'execution') return findMark(deps.database.db, workspaceId, id)
        const run = await findVersion(deps.database, workspaceId, id)
        return run && String(run.version)
      },
      listSkills: (workspaceId, asked) => listSummaries(deps.database.db, workspaceId, asked),
      openStream: (bearer, seat, rights) => streams.open(bearer, async () => seat, { rights }),
      hold: (bearer, end) => sockets.holdStream(bearer, end),
    },
    options.mcpCatalogue,
  )
  const server = createServer({
    deps,
    socketDoor: sockets.door,
    authenticators,
    grants,
    operations,
    rawRoutes: [...authorizationServer(deps, oauth), ...mcp, reportRoute(deps)],
    pages: createPages(deps),
    closing: [() => streams.close()],
  })
  return { server, perform, authenticators, sweeps, reconcilers, bus, sockets }
}

/** Sockets end with their credential, which `sockets/` knows only by name. */
function createSockets(deps: Deps, bus: Bus, { keys, sessions, oauth }: Checks): Sockets {
  const { database } = deps
  const sockets = new Sockets(deps, bus, {
    key: async (asked) => {
      const good = new Set(
        await findLiveKeys(
          database,
          asked.map(({ credentialId }) => credentialId),
        ),
      )
      return asked.filter(({ credentialId }) => good.has(credentialId))
    },
    session: (asked) => findLiveSessions(database, asked),
    oauth: (asked) => findLiveGrants(database, asked),
  })
  const recheck = (credential: string) => sockets.recheckCredential(credential)
  keys.onEnded(recheck)
  sessions.onEnded(recheck)
  oauth.onGrantEnded((ended) => (ended === undefined ? sockets.recheckKind('oauth') : recheck(ended)))
  return sockets
}
