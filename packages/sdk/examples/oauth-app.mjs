/** An app that acts for whoever connects it. Register it with the address below, and give its id as CLIENT_ID. */
import { createServer } from 'node:http'
import { Guildhall } from '@guildhall/sdk'
import { begin, finish, revoke, tokenSource } from '@guildhall/sdk/oauth'

const { GUILD_BASE_URL: baseUrl = '', CLIENT_ID: clientId = '', PORT = '4180' } = process.env
const own = `http://127.0.0.1:${PORT}`
const app = { baseUrl, clientId, redirectUri: `${own}/callback` }

/** Sign-ins under way, by a name that only the browser that began one holds. @type {Map<string, { state: string, verifier: string }>} */
const begun = new Map()

/** @param {import('node:http').IncomingMessage} request @param {import('node:http').ServerResponse} response */
async function answer(request, response) {
  const url = new URL(request.url ?? '/', own)
  if (url.pathname === '/') {
    const { url: location, ...kept } = await begin({ ...app, scope: 'read' })
    const name = crypto.randomUUID()
    begun.set(name, kept)
    response.writeHead(302, {
      location,
      'set-cookie': `sign-in=${name}; HttpOnly; SameSite=Lax; Path=/callback`,
    })
    return response.end()
  }
  if (url.pathname !== '/callback') return response.writeHead(404).end()
  const name = /sign-in=([\w-]+)/.exec(request.headers.cookie ?? '')?.[1] ?? ''
  const kept = begun.get(name)
  // An answer that another browser asked for would connect somebody else's account.
  if (!kept) return response.writeHead(400).end('Begin again')
  begun.delete(name)
  const tokens = await finish({ ...app, ...kept, callbackUrl: url.href })
  // Saved where you keep secrets: the refresh token changes with every use.
  const credential = tokenSource(app, tokens, () => {})
  const workspaces = await new Guildhall({ baseUrl, credential }).workspaces.list()
  response.end(`Connected to ${workspaces.map(({ id, name }) => name ?? id).join(', ')}`)
  // This one only looks once; an app that stays keeps them.
  if (tokens.refreshToken) await revoke(app, tokens.refreshToken)
}

createServer((request, response) => {
  answer(request, response).catch((error) => response.writeHead(500).end(String(error.message)))
}).listen(Number(PORT), '127.0.0.1', () => console.log(`Open ${own}/`))
