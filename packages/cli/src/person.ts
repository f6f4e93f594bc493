import { randomBytes } from 'node:crypto'
import { createServer } from 'node:http'
import { hostname } from 'node:os'
import { Guildhall, type SignedIn } from '@guildhall/sdk'
import { begin, finish } from '@guildhall/sdk/sign-in'
import { canOpenBrowser, openBrowser } from './browser.ts'
import { commonOptions, notSignedIn } from './client.ts'
import type { Context, Presence } from './context.ts'
import { readKeptSession } from './credentials/kept-session.ts'
import { say } from './output/safe-text.ts'

const opened = new WeakMap<Context, Promise<Guildhall>>()

/**
 * The person, for as long as one command takes. The session is not written anywhere unless the person chose so with
 * `login --person --keep`: an agent with a shell runs as the same user, and a stored session speaks for the person.
 */
export function personOf(context: Context, presence: Presence): Promise<Guildhall> {
  const known = opened.get(context) ?? openPerson(context, presence)
  opened.set(context, known)
  return known
}

async function openPerson(context: Context, presence: Presence): Promise<Guildhall> {
  const { settings } = context
  const baseUrl = addressOf(context)
  const options = {
    ...commonOptions(context, baseUrl),
    ...(settings.workspace && { workspaceId: settings.workspace }),
  }
  const kept =
    settings.authToken ?? (presence === 'now' ? undefined : await readKeptSession(settings, baseUrl))
  const authToken = kept ?? (await signIn(context, baseUrl)).auth_token
  context.out.hide(authToken)
  const person = new Guildhall({ ...options, authToken })
  if (kept) return person
  context.atEnd.push(async () => {
    await person.session.signOut().catch(() => {})
  })
  return person
}

function addressOf({ settings, command }: Context): string {
  const baseUrl = settings.authToken ? settings.ownBaseUrl : settings.baseUrl
  if (baseUrl) return baseUrl
  throw notSignedIn('No address is known.', `guild ${command.name} --base-url https://guild.example`)
}

/** A session for whoever signs in with the browser of this computer. */
export async function signIn(
  context: Context,
  baseUrl: string,
  wanted: { readonly lifetimeSeconds?: number } = {},
): Promise<SignedIn> {
  const { settings, out, signal } = context
  if (!settings.mayPrompt || !canOpenBrowser(settings.environment)) {
    throw notSignedIn(
      `guild ${context.command.name} is for a person, who signs in with a browser; there is none here.`,
      'do it in the app',
      `run it on a computer with a browser: guild ${context.command.name} --base-url ${baseUrl}`,
    )
  }
  let verifier = ''
  const code = await codeFromBrowser(signal, async (redirect) => {
    const begun = await begin({ baseUrl, redirect })
    verifier = begun.verifier
    out.talk(say`Sign in to go on: ${begun.url}`)
    openBrowser(begun.url, settings.environment)
  })
  return finish({ baseUrl, code, verifier, label: `guild on ${hostname()}`, ...wanted })
}

/** Waits on a port of this machine for the page that the sign-in ends on. Only our state opens it. */
function codeFromBrowser(signal: AbortSignal, send: (redirect: string) => Promise<void>): Promise<string> {
  const path = `/${randomBytes(16).toString('hex')}`
  return new Promise((resolve, reject) => {
    const server = createServer((request, response) => {
      const url = new URL(request.url ?? '/', 'http://127.0.0.1')
      const code = url.pathname === path ? url.searchParams.get('code') : null
      response.writeHead(code ? 200 : 404, { 'content-type': 'text/plain', connection: 'close' })
      response.end(code ? 'Signed in. You can close this page.' : 'Nothing here.')
      if (code) {
        server.close()
        resolve(code)
      }
    })
    signal.addEventListener('abort', () => {
      server.close()
      reject(signal.reason)
    })
    server.on('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      const port = typeof address === 'object' && address ? address.port : 0
      send(`http://127.0.0.1:${port}${path}`).catch(reject)
    })
  })
}
