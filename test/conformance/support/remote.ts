import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { join } from 'node:path'
import { openGitServer } from '../../support/git-servers.ts'
import { until } from '../../support/processes.ts'

/** The commit that the registry says its skills are of. */
export const registryCommit = 'c0ffee'.padEnd(40, '0')

/** A skill of this kind of name is on its way until somebody lays its bundle into the folder. */
export const slowPrefix = 'slow-'

/** Nobody listens at the discard port: a server that may be fetched from and does not answer. */
const deadHost = '127.0.0.1:9'

interface Remote {
  url: string
  deadUrl: string
  /** Bare repositories by name, and the registry's bundles as `<slug>.zip`. */
  folder: string
  /** For FETCH_ALLOW. */
  allow: string
  close(): Promise<void>
}

/** Another place on the net, on loopback: git repositories and a registry of skills. */
export async function openRemote(dir: string): Promise<Remote> {
  const folder = join(dir, 'remote')
  mkdirSync(folder)
  const serveBundle = (request: IncomingMessage, response: ServerResponse) => {
    const slug = /^\/api\/v1\/marketplace\/skills\/([\w-]+)\/bundle$/.exec(request.url ?? '')?.[1]
    if (slug === undefined) return false
    const bundle = join(folder, `${slug}.zip`)
    const answer = () => response.setHeader('x-commit-hash', registryCommit).end(readFileSync(bundle))
    if (slug.startsWith(slowPrefix))
      void until(() => existsSync(bundle), 20_000).then(answer, () => response.destroy())
    else answer()
    return true
  }
  const { port, close } = await openGitServer({ root: folder, behave: serveBundle })
  const host = `127.0.0.1:${port}`
  return { url: `http://${host}`, deadUrl: `http://${deadHost}`, folder, allow: `${host},${deadHost}`, close }
}
