import { randomUUID } from 'node:crypto'
import { actionArgsLimits, type Route, routes } from '@guildhall/contract'
import { ApiError } from '#operations/errors.ts'
import { exactRequest } from '#operations/perform.ts'
import type { OperationRequest } from './caller.ts'
import { InputRequired } from './catalogue.ts'
import { decisionWords } from './decision-words.ts'
import type { Exchange } from './exchange.ts'
import { type CallToolResult, isRecord, type RecordOf } from './shapes.ts'
import { refusedTool, type Started, type ToolParts, type ToolUse } from './tools/tool.ts'

/** What is known of a question between two rounds. */
interface BridgeState {
  readonly bridge: string
  readonly scope: string
  readonly round: number
  readonly nonce: string
  readonly since: number
}

interface Decision {
  readonly status: 'pending' | 'granted' | 'denied' | 'expired'
  readonly deny_reason?: string
}

/** Below the 30 s at which some hosts cut a call. */
const legSeconds = 25
/** A client of the SDK gives up after ten rounds. */
const mostRounds = 8
/** A legacy client waits in one request: those who are told how far it is wait for longer. */
const legacyMs = { told: 50_000, untold: 25_000 }
const answerName = 'approval'

type Attempt = (use: ToolUse) => Promise<CallToolResult | Started | InputRequired>

/**
 * Makes a call; when the key lacks a scope, asks its person and goes on when they agree. It works with clients that can be
 * asked nothing: then nothing but time passes. Nothing is granted here: the person decides in the app, and the call that
 * is made then is asked for its rights like any other.
 */
export async function throughBridge(
  parts: ToolParts,
  exchange: Exchange,
  tool: { readonly name: string; readonly args: RecordOf; readonly summary: string },
  attempt: Attempt,
): Promise<CallToolResult | Started | InputRequired> {
  const state = readBridgeState(exchange.state)
  if (state) {
    const undecided = await awaitDecision(parts, exchange, state)
    if (undecided) return undecided
  }
  try {
    return await attempt({ ...parts, exchange, repeatKey: state && `mcp:${state.nonce}` })
  } catch (error) {
    const scope = missingScope(error)
    if (scope === undefined || exchange.caller.principal.kind !== 'key') throw error
    return askForScope(parts, exchange, tool, scope, state)
  }
}

function missingScope(error: unknown): string | undefined {
  if (!(error instanceof ApiError) || error.code !== 'FORBIDDEN') return undefined
  const missing = error.details?.['missing_scopes']
  return Array.isArray(missing) && typeof missing[0] === 'string' ? missing[0] : undefined
}

function readBridgeState(state: unknown): BridgeState | undefined {
  return isRecord(state) && typeof state['bridge'] === 'string'
    ? (state as unknown as BridgeState)
    : undefined
}

async function askForScope(
  parts: ToolParts,
  exchange: Exchange,
  tool: { readonly name: string; readonly args: RecordOf; readonly summary: string },
  scope: string,
  before: BridgeState | undefined,
): Promise<CallToolResult | InputRequired> {
  const { caller } = exchange
  const denial = await parts.findRecentDenial(caller.principal.credentialId, scope)
  if (denial)
    return refusedTool(decisionWords.deniedBefore(scope, denial.reason), { code: 'FORBIDDEN', scope })
  const { refused } = caller
  const route: Route | undefined =
    refused && Object.entries<Route>(routes).find(([name]) => name === refused.name)?.[1]
  const exact = refused && exactly(refused.request)
  const request = route && exact && exactRequest(route, exact)
  // What is bound is what is shown, where it can be.
  const body = exact?.body
  const answer = await caller.perform('requestPermission', {
    body: {
      scope,
      mode: 'session',
      reason: tool.summary.slice(0, 280),
      action: {
        summary: tool.summary.slice(0, 500),
        tool: tool.name,
        args: isShowable(body) ? body : fitting(tool.args),
        ...(request && {
          request: { method: request.method, path: request.path, bodySha256: request.bodySha256() },
        }),
      },
    },
  })
  const asked = answer as { status: string; request_id?: string }
  if (!before) parts.metrics.mcpDecisions.inc({ outcome: 'asked' })
  const url = `${parts.appUrl}/approvals/${asked.request_id ?? ''}`
  const state: BridgeState = {
    bridge: asked.request_id ?? '',
    scope,
    round: (before?.round ?? 0) + 1,
    nonce: before?.nonce ?? randomUUID(),
    since: before?.since ?? Date.now(),
  }
  // Granted in between: the next attempt finds it.
  if (asked.request_id === undefined) return new InputRequired({ state })
  if (exchange.request.meta['dev.guildhall/bridge'] === 'off' || state.round > mostRounds)
    return pending(url, state)
  const message = `${tool.summary}: allow ${scope}?`
  await exchange.progress(0, decisionWords.waiting(tool.summary, url))
  if (!exchange.elicits.url) return new InputRequired({ state })
  return new InputRequired({
    requests: {
      [answerName]: {
        method: 'elicitation/create',
        params: { mode: 'url', message, url, elicitationId: asked.request_id },
      },
    },
    state,
    orWhen: async (signal) => {
      while (!signal.aborted && Date.now() - state.since < legacyMs.told) {
        const { status } = await poll(exchange, state, 1)
        if (status !== 'pending') return
      }
    },
  })
}

/** Undefined once the person has agreed; else what the client is told, or to come again. */
async function awaitDecision(
  parts: ToolParts,
  exchange: Exchange,
  state: BridgeState,
): Promise<CallToolResult | InputRequired | undefined> {
  if (state.bridge === '') return undefined
  const said = exchange.answers?.[answerName]
  const url = `${parts.appUrl}/approvals/${state.bridge}`
  if (isRecord(said) && (said['action'] === 'decline' || said['action'] === 'cancel'))
    return refusedTool(decisionWords.declined(url), { code: 'FORBIDDEN', request_id: state.bridge })
  const isLegacy = exchange.request.era === 'legacy'
  const legacyEnd = state.since + (exchange.progressToken === undefined ? legacyMs.untold : legacyMs.told)
  const left = isLegacy ? Math.ceil((legacyEnd - Date.now()) / 1000) : legSeconds
  const seconds = Math.max(0, Math.min(left, legSeconds))
  const decision = await exchange.whileWanted(() => poll(exchange, state, seconds))
  exchange.signal.throwIfAborted()
  if (decision.status !== 'pending') parts.metrics.mcpDecisions.inc({ outcome: decision.status })
  switch (decision.status) {
    case 'granted':
      return undefined
    case 'denied':
      return refusedTool(decisionWords.denied(state.scope, decision.deny_reason), {
        code: 'FORBIDDEN',
        scope: state.scope,
      })
    case 'expired':
      return refusedTool(decisionWords.expired(state.scope), { code: 'EXPIRED', scope: state.scope })
    case 'pending': {
      const isLast = isLegacy
        ? Date.now() >= legacyEnd || exchange.stopping.aborted
        : state.round >= mostRounds
      if (isLast) return pending(url, state)
      await exchange.progress(state.round / 1000, decisionWords.stillWaiting(url))
      return new InputRequired({ state: { ...state, round: state.round + 1 } })
    }
  }
}

async function poll(exchange: Exchange, { bridge }: BridgeState, wait: number): Promise<Decision> {
  const answer = await exchange.caller.perform('pollPermission', {
    params: { requestId: bridge },
    query: { wait },
  })
  return answer as Decision
}

function pending(url: string, { bridge, scope }: BridgeState): CallToolResult {
  return refusedTool(decisionWords.pending(scope, bridge, url), {
    code: 'FORBIDDEN',
    missing_scopes: [scope],
    request_id: bridge,
    approval_url: url,
  })
}

function exactly({ params = {}, query = {}, body }: OperationRequest) {
  return { params, query, ...(body && { body }) }
}

/** What a person is shown has its bounds; more than that is told by its size. */
function fitting(args: RecordOf): unknown {
  if (isShowable(args)) return args
  const bytes = Buffer.byteLength(JSON.stringify(args))
  return { note: `${bytes} bytes of arguments, too large or too deep to be shown` }
}

function isShowable(value: unknown): boolean {
  const { bytes, depth } = actionArgsLimits
  return value !== undefined && isWithin(value, depth) && Buffer.byteLength(JSON.stringify(value)) <= bytes
}

function isWithin(value: unknown, levels: number): boolean {
  if (levels < 0) return false
  if (typeof value !== 'object' || value === null) return true
  return Object.values(value).every((child) => isWithin(child, levels - 1))
}
