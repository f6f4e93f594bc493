import { askForScopes } from './asking.ts'
import type { CallOptions, Client, Prepared } from './client.ts'
import type { MissingScopeError } from './errors.ts'
import type { Action } from './generated/records.ts'
import type { PermissionOptions } from './options.ts'
import { pause } from './retry.ts'

/**
 * Puts refusals for missing scopes to a person. Calls that lack the same scopes at the same time share one question,
 * and one wait.
 */
export class Healer {
  readonly #client: Client
  readonly #waits = new Map<string, Wait>()
  /** How often a request was refused for the same scopes although they had been granted. */
  readonly #granted = new WeakMap<Prepared, number>()

  constructor(client: Client) {
    this.#client = client
  }

  /** Whether the request is worth sending again. */
  async heal(
    refusal: MissingScopeError,
    request: Prepared,
    permission: PermissionOptions,
    { signal }: CallOptions,
  ): Promise<boolean> {
    const times = this.#granted.get(request) ?? 0
    this.#granted.set(request, times + 1)
    if (times >= 2) return false
    // A server may believe for a moment what the key held before.
    if (times === 1) return pause(1000, signal).then(() => true)
    const scopes = [...refusal.missingScopes].sort()
    // A grant that is bound to one request is of no use to another. Several on one card could not be bound.
    if (permission.bind) for (const scope of scopes) await this.#ask([scope], request, permission, signal)
    else await this.#together(scopes.join(' '), signal, (all) => this.#ask(scopes, request, permission, all))
    return true
  }

  /** Whoever gives up leaves the question to the others; the last of them ends the wait. */
  async #together(
    name: string,
    signal: AbortSignal | undefined,
    ask: (all: AbortSignal) => Promise<void>,
  ): Promise<void> {
    const shared = this.#waits.get(name) ?? newWait(ask)
    this.#waits.set(name, shared)
    shared.waiting++
    try {
      await unlessAborted(signal, shared.asked)
    } finally {
      // Over, or given up by all: the next refusal asks anew.
      if (--shared.waiting === 0) {
        shared.stop.abort()
        this.#waits.delete(name)
      }
    }
  }

  async #ask(
    scopes: readonly string[],
    request: Prepared,
    permission: PermissionOptions,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const action = permission.bind ? await actionOf(request) : undefined
    await askForScopes(this.#client, scopes, { ...permission, signal, action })
  }
}

/** One question, and how many wait for its answer. */
interface Wait {
  readonly asked: Promise<void>
  readonly stop: AbortController
  waiting: number
}

function newWait(ask: (all: AbortSignal) => Promise<void>): Wait {
  const stop = new AbortController()
  return { asked: ask(stop.signal), stop, waiting: 0 }
}

function unlessAborted<T>(signal: AbortSignal | undefined, wait: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const end = () => reject(signal?.reason)
    if (signal?.aborted) end()
    signal?.addEventListener('abort', end, { once: true })
    wait.then(resolve, reject).finally(() => signal?.removeEventListener('abort', end))
  })
}

/** The digest by which a grant is bound to one body. */
async function sha256Of(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes))
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, '0')).join('')
}

/** What the grant will fit: this method, this path, these bytes. They are shown to the person, if they are not too many. */
async function actionOf({ operation, path, body }: Prepared): Promise<Action> {
  const method = (operation.method ?? 'GET') as 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  const bytes = body.init.body
  const request = { method, path, bodySha256: bytes && (await sha256Of(bytes)) }
  const args = bytes && shownOf(bytes)
  return { summary: `${operation.name}: ${method} ${path}`, request, ...(args !== undefined && { args }) }
}

/** What the service takes to be shown. */
const shown = { bytes: 65_536, depth: 64 }

function shownOf(bytes: Uint8Array<ArrayBuffer>): unknown {
  if (bytes.length > shown.bytes) return undefined
  try {
    const value: unknown = JSON.parse(new TextDecoder().decode(bytes))
    return isWithin(value, shown.depth) ? value : undefined
  } catch {
    // A form.
    return undefined
  }
}

function isWithin(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return true
  return levels > 0 && Object.values(value).every((child) => isWithin(child, levels - 1))
}
