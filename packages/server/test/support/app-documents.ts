import { mkdtempSync, rmSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { makeAuthority } from '../../../../test/support/git-servers.ts'
import { type App, callback } from './oauth.ts'

export interface DocumentHost {
  readonly origin: string
  /** Settings with which a house may read here. */
  readonly env: Readonly<Record<string, string>>
  /** What was read, by path, since it was emptied last. */
  readonly reads: string[]
  /** An app with a document of its own; what is given stands in it too, or is written instead of it. */
  describeApp(fields?: Record<string, unknown>, write?: (response: ServerResponse) => void): App
  /** From now on something else stands there. */
  rewrite(app: App, write: (response: ServerResponse) => void): void
  close(): void
}

/** Where apps describe themselves. */
export async function openDocumentHost(): Promise<DocumentHost> {
  const folder = mkdtempSync(join(tmpdir(), 'guildhall-documents-'))
  const { key, cert, caFile } = makeAuthority(folder, ['127.0.0.1'])
  const documents = new Map<string, (response: ServerResponse) => void>()
  const reads: string[] = []
  const server = createServer({ key, cert }, (request, response) => {
    const path = request.url ?? ''
    reads.push(path)
    const write = documents.get(path)
    if (write) write(response)
    else response.writeHead(404).end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const origin = `https://127.0.0.1:${port}`
  let apps = 0
  return {
    origin,
    env: { OAUTH_DOCUMENT_ALLOW: `127.0.0.1:${port}`, FETCH_ALLOW_CA: caFile },
    reads,
    describeApp: (fields = {}, write) => {
      const path = `/app-${++apps}/client.json`
      const id = origin + path
      const document = { client_id: id, client_name: 'Editor', redirect_uris: [callback], ...fields }
      const answer = JSON.stringify(document)
      const usual = (response: ServerResponse) =>
        void response.writeHead(200, { 'content-type': 'application/json' }).end(answer)
      documents.set(path, write ?? usual)
      return { id, secret: null }
    },
    rewrite: ({ id }, write) => void documents.set(new URL(id).pathname, write),
    close: () => {
      server.closeAllConnections()
      server.close()
      rmSync(folder, { recursive: true })
    },
  }
}
