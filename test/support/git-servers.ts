import { execFileSync, spawn } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import { type AddressInfo, createServer as createTcpServer, type Server, type Socket } from 'node:net'
import { join } from 'node:path'

export interface Authority {
  caFile: string
  key: string
  cert: string
}

/** A certificate for these names, and the authority that it is checked against. */
export function makeAuthority(folder: string, names: readonly string[]): Authority {
  const openssl = (...args: string[]) => execFileSync('openssl', args, { cwd: folder, stdio: 'pipe' })
  const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']
  const root = ['-keyout', 'ca.key', '-out', 'ca.pem', '-days', '1', '-subj', '/CN=Test authority']
  openssl('req', '-x509', ...curve, ...root)
  openssl('req', ...curve, '-keyout', 'tls.key', '-out', 'tls.csr', '-subj', '/CN=Test server')
  const alternatives = names.map((name) => (/^[\d.]+$/.test(name) ? `IP:${name}` : `DNS:${name}`)).join(',')
  writeFileSync(join(folder, 'names.cnf'), `subjectAltName=${alternatives}\n`)
  const issuer = ['-CA', 'ca.pem', '-CAkey', 'ca.key', '-CAcreateserial', '-extfile', 'names.cnf']
  const cert = openssl('x509', '-req', '-in', 'tls.csr', ...issuer, '-days', '1')
  const key = openssl('pkey', '-in', 'tls.key')
  return { caFile: join(folder, 'ca.pem'), key: key.toString(), cert: cert.toString() }
}

/** What stands in a tree. Names are taken as they are, also those that no honest git would write. */
export type Tree = { [name: string]: string | Buffer | Tree | { mode: string; hash: string } }

export interface Repository {
  commit: string
  folder: string
}

/** A bare repository with one commit on `main`; objects are written raw, so that it can hold what it must not. */
export function makeRepository(root: string, name: string, tree: Tree, compression = 0): Repository {
  const folder = join(root, name)
  mkdirSync(folder, { recursive: true })
  const git = (args: string[], input: string | Buffer = '') =>
    execFileSync('git', args, { cwd: folder, input, env: plainEnvironment(), stdio: 'pipe' })
      .toString()
      .trim()
  git(['init', '--quiet', '--bare', '--initial-branch=main', '.'])
  git(['config', 'uploadpack.allowAnySHA1InWant', 'true'])
  git(['config', 'core.compression', String(compression)])
  const known = new Map<string, string>()
  const write = (type: string, content: Buffer) => {
    const key = type + createHash('sha256').update(content).digest('hex')
    const hash = known.get(key) ?? git(['hash-object', '-w', '--literally', '-t', type, '--stdin'], content)
    known.set(key, hash)
    return hash
  }
  const written = new Map<Tree, string>()
  const writeTree = (entries: Tree): string => {
    const before = written.get(entries)
    if (before !== undefined) return before
    const lines = Object.entries(entries).map(([entry, value]) => {
      const line = typeof value === 'string' || Buffer.isBuffer(value) ? blob(value) : below(value)
      return { sortAs: line.mode === '40000' ? `${entry}/` : entry, name: entry, ...line }
    })
    lines.sort((a, b) => Buffer.compare(Buffer.from(a.sortAs), Buffer.from(b.sortAs)))
    const hash = write(
      'tree',
      Buffer.concat(lines.flatMap((l) => [Buffer.from(`${l.mode} ${l.name}\0`), Buffer.from(l.hash, 'hex')])),
    )
    written.set(entries, hash)
    return hash
  }
  const blob = (content: string | Buffer) => ({ mode: '100644', hash: write('blob', Buffer.from(content)) })
  const below = (value: Tree | { mode: string; hash: string }) => {
    if (typeof value['mode'] !== 'string') return { mode: '40000', hash: writeTree(value as Tree) }
    // A hash that is no hash is the content of a blob with that mode.
    const { mode, hash } = value as { mode: string; hash: string }
    return { mode, hash: /^[0-9a-f]{40}$/.test(hash) ? hash : write('blob', Buffer.from(hash)) }
  }
  const commit = git(['commit-tree', writeTree(tree), '-m', 'A commit'])
  git(['update-ref', 'refs/heads/main', commit])
  git(['update-server-info'])
  return { commit, folder }
}

function plainEnvironment(): Record<string, string> {
  const person = { NAME: 'Test', EMAIL: 'test@house.test', DATE: '2026-01-01T00:00:00Z' }
  return {
    PATH: process.env['PATH'] ?? '',
    HOME: '/nonexistent',
    GIT_CONFIG_NOSYSTEM: '1',
    ...Object.fromEntries(
      Object.entries(person).flatMap(([k, v]) => [
        [`GIT_AUTHOR_${k}`, v],
        [`GIT_COMMITTER_${k}`, v],
      ]),
    ),
  }
}

/** Takes a request itself, or leaves it to git. */
export type Behaviour = (request: IncomingMessage, response: ServerResponse) => boolean

export interface GitServer {
  port: number
  /** `METHOD /path` of every request. */
  requests: string[]
  /** Sockets that are open right now. */
  open: ReadonlySet<Socket>
  close(): Promise<void>
}

interface GitServerOptions {
  root: string
  authority?: Authority
  host?: string
  port?: number
  behave?: Behaviour
}

/** The real `git http-backend` behind a listener on loopback. */
export async function openGitServer(options: GitServerOptions): Promise<GitServer> {
  const requests: string[] = []
  const answer = (request: IncomingMessage, response: ServerResponse) => {
    requests.push(`${request.method} ${request.url}`)
    response.on('error', () => {})
    if (!options.behave?.(request, response)) serveGit(options.root, request, response)
  }
  const server = options.authority
    ? createHttpsServer({ key: options.authority.key, cert: options.authority.cert }, answer)
    : createHttpServer(answer)
  const open = trackSockets(server)
  const port = await listen(server, options.host ?? '127.0.0.1', options.port ?? 0)
  return { port, requests, open, close: () => closeServer(server, open) }
}

function serveGit(root: string, request: IncomingMessage, response: ServerResponse): void {
  const url = new URL(request.url ?? '/', 'http://here')
  const header = (name: string) => String(request.headers[name] ?? '')
  const child = spawn('git', ['http-backend'], {
    env: {
      ...plainEnvironment(),
      GIT_PROJECT_ROOT: root,
      GIT_HTTP_EXPORT_ALL: '1',
      PATH_INFO: decodeURIComponent(url.pathname),
      QUERY_STRING: url.search.slice(1),
      REQUEST_METHOD: request.method ?? 'GET',
      CONTENT_TYPE: header('content-type'),
      REMOTE_ADDR: '127.0.0.1',
      GIT_PROTOCOL: header('git-protocol'),
      HTTP_CONTENT_ENCODING: header('content-encoding'),
      ...(request.headers['content-length'] ? { CONTENT_LENGTH: header('content-length') } : {}),
    },
  })
  child.stdin.on('error', () => {})
  request.pipe(child.stdin)
  let head: Buffer | undefined = Buffer.alloc(0)
  child.stdout.on('data', (chunk: Buffer) => {
    if (!head) return response.write(chunk)
    head = Buffer.concat([head, chunk])
    const end = head.indexOf('\r\n\r\n')
    if (end < 0) return
    for (const line of head.subarray(0, end).toString().split('\r\n')) {
      const [name = '', ...value] = line.split(': ')
      if (name === 'Status') response.statusCode = Number.parseInt(value.join(': '), 10)
      else response.setHeader(name, value.join(': '))
    }
    response.write(head.subarray(end + 4))
    head = undefined
  })
  child.on('close', () => response.end())
  response.on('close', () => child.kill())
}

/** Counts whoever connects, and never answers. */
export interface Canary {
  port: number
  hits(): number
  close(): Promise<void>
}

export async function openCanary(host: string, port = 0): Promise<Canary> {
  let hits = 0
  const server = createTcpServer((socket) => {
    hits++
    socket.destroy()
  })
  const open = trackSockets(server)
  const bound = await listen(server, host, port)
  return { port: bound, hits: () => hits, close: () => closeServer(server, open) }
}

/** The answer to a v2 fetch: a pack that says it has these many objects and begins with a blob of 16 GiB. */
export function sendEndlessPack(response: ServerResponse, objects: number): void {
  response.writeHead(200, { 'content-type': 'application/x-git-upload-pack-result' })
  const packet = (content: Buffer) =>
    Buffer.concat([Buffer.from((content.length + 4).toString(16).padStart(4, '0')), content])
  const onBand = (content: Buffer) => packet(Buffer.concat([Buffer.from([1]), content]))
  response.write(packet(Buffer.from('packfile\n')))
  // Type blob, size 2^34, then a deflate stream of stored blocks.
  const sizeBytes = [0xb0, 0x80, 0x80, 0x80, 0x80, 0x04]
  const begin = Buffer.from([0x50, 0x41, 0x43, 0x4b, 0, 0, 0, 2, 0, 0, 0, 0, ...sizeBytes, 0x78, 1])
  begin.writeUInt32BE(objects, 8)
  response.write(onBand(begin))
  const length = 60_000
  const stored = Buffer.from([0, length & 255, length >> 8, ~length & 255, (~length >> 8) & 255])
  const block = onBand(Buffer.concat([stored, randomBytes(length)]))
  const pump = () => {
    while (!response.destroyed && response.write(block));
  }
  response.on('drain', pump)
  pump()
}

export function requestBody(request: IncomingMessage): Promise<string> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => resolve(Buffer.concat(chunks).toString('latin1')))
  })
}

function trackSockets(server: Server): ReadonlySet<Socket> {
  const open = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    open.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => open.delete(socket))
  })
  return open
}

function listen(server: Server, host: string, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, () => resolve((server.address() as AddressInfo).port))
  })
}

async function closeServer(server: Server, open: ReadonlySet<Socket>): Promise<void> {
  const closed = new Promise((resolve) => server.close(resolve))
  for (const socket of open) socket.destroy()
  await closed
}
