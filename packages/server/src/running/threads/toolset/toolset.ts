import { createHash } from 'node:crypto'
import { type Route, routes } from '@guildhall/contract'
import { prepareToolInput } from '#machinery/graph/graph.ts'
import { estimateTokens, type ModelTool, type ModelToolCall } from '#machinery/models/models.ts'
import { Access } from '#operations/access.ts'
import { collect } from '#operations/answer.ts'
import { requireOfApp } from '#operations/authorize.ts'
import { toApiError } from '#operations/errors.ts'
import { countRequest } from '#operations/limits.ts'
import { exactRequest } from '#operations/perform.ts'
import type { Principal } from '#operations/principal.ts'
import { type Asking, askPerson, explainRefusal } from './asking.ts'
import { leaveFor } from './consent-rules.ts'
import { bounded } from './output.ts'
import type { ToolsetParts } from './parts.ts'
import { RefusedCall } from './refused-call.ts'
import {
  type Request,
  refused,
  type ThreadTool,
  type ToolInput,
  type ToolRun,
  type ToolUse,
  type Used,
} from './tool.ts'
import { toolsOf } from './tools-of.ts'

export type { ToolsetParts } from './parts.ts'
export type { Credential, ToolRun, Wait } from './tool.ts'

export interface ThreadToolset {
  readonly schemas: readonly ModelTool[]
  /** May be asked again with the same call, after a crash or a wait: what was done is not done twice. */
  use(call: ModelToolCall): Promise<Used>
  /** How a call that was broken off is gone on with. */
  kindOf(name: string): 'look' | 'keyed' | 'unkeyed'
  /** What the call is about to do, for who watches. */
  labelOf(call: ModelToolCall): string
}

const mostSchemas = 30
const mostSchemaTokens = 6000
/** More than a model is given of it: what is cut is still cut by us. */
const collectedBytes = 1024 * 1024

/** What a run may use, with the authority of whoever sent its message and no other. */
export function createToolset(parts: ToolsetParts, run: ToolRun): ThreadToolset {
  const tools = new Map(fitting(toolsOf(parts, run)).map((tool) => [tool.name, tool]))
  return {
    schemas: [...tools.values()].map(toSchema),
    use: async (call) => {
      const used = await useTool(parts, run, tools, call)
      return 'pause' in used ? used : bounded(used)
    },
    kindOf: (name) => {
      const tool = tools.get(name)
      return tool === undefined || tool.does === 'look' ? 'look' : tool.isKeyed ? 'keyed' : 'unkeyed'
    },
    labelOf: ({ name, input }) => {
      const tool = tools.get(name)
      return tool && isRecord(input) ? tool.summary(input).slice(0, 500) : name
    },
  }
}

function toSchema({ name, description, inputSchema }: ThreadTool): ModelTool {
  return { name, description, inputSchema }
}

/** As many as a prompt has room for, in the agent's own order. */
function fitting(tools: readonly ThreadTool[]): ThreadTool[] {
  let tokens = 0
  return tools.slice(0, mostSchemas).filter((tool) => {
    const more = estimateTokens(JSON.stringify(toSchema(tool)))
    if (tokens + more > mostSchemaTokens) return false
    tokens += more
    return true
  })
}

async function useTool(
  parts: ToolsetParts,
  run: ToolRun,
  tools: ReadonlyMap<string, ThreadTool>,
  call: ModelToolCall,
): Promise<Used> {
  const tool = tools.get(call.name)
  if (!tool)
    return refused(
      `There is no tool "${call.name.slice(0, 100)}"; there are ${[...tools.keys()].join(', ')}.`,
    )
  const { input, issues } = prepareToolInput({ ...tool.inputSchema }, call.input)
  const [issue] = issues
  if (issue) return refused(`The input${issue.path === '' ? '' : ` at ${issue.path}`} ${issue.message}.`)
  // Anew for every call: what was taken away since the message came is not used any more.
  const principal = await parts.loadPrincipal(run.credential, run.workspaceId, run.userId)
  if (!principal)
    return refused('The credential that this message was sent with has ended; nothing is done with it.')
  const [window] = await countRequest(parts, ['toolCall'], {
    caller: principal.credential,
    userId: principal.userId,
    address: '',
  })
  if (window && !window.allowed)
    return refused(`Too many tool calls; wait ${Math.ceil(window.resetMs / 1000)} s before the next one.`)
  const asking: Asking = { parts, run, principal, tool, call, input: input as ToolInput }
  try {
    return await useAllowed(asking)
  } catch (error) {
    run.signal.throwIfAborted()
    if (!(error instanceof RefusedCall)) throw error
    return explainRefusal(asking, error)
  }
}

async function useAllowed(asking: Asking): Promise<Used> {
  const { parts, run, principal, tool, call, input } = asking
  const perform: ToolUse['perform'] = (operation, request) =>
    performCall(parts, run, principal, call, operation, request)
  const { isOutside, facts } = (await tool.reach?.(input, perform)) ?? {
    isOutside: tool.does === 'outside',
    facts: {},
  }
  const leave = leaveFor(principal.kind, isOutside ? 'outside' : tool.does, run.tainted())
  if (isOutside && run.agent.outside === 'never')
    return refused('This agent is made to use nothing outside; it was not done.')
  if (leave === 'never')
    return refused('This conversation has read from outside, and an app can ask nobody; it was not done.')
  // Others are operations, which ask for their own scope.
  const spend = tool.does === 'outside' ? await requireOutside(asking) : undefined
  if (leave === 'ask') {
    const answered = await askPerson(asking, tool.summary(input), facts)
    if (answered) return answered
  }
  await spend?.()
  if (!tool.isKeyed && !(await run.begin(call.id)))
    return refused(
      'This call was broken off, and nobody knows whether it had its effect. Check before a repeat.',
    )
  const used = await tool.use(input, {
    id: call.id,
    run,
    principal,
    perform,
    facts,
    askPerson: (summary) => askPerson(asking, summary, facts),
  })
  if (!tool.isOurs && !('pause' in used)) await run.taint(tool.name)
  return used
}

/** What reaches outside needs what a workflow that does so would need. */
const outsideScope = 'tool:execute'

/** Gives what spends a grant that is good for this call alone, if it is one that lets it through. */
async function requireOutside(asking: Asking): Promise<() => Promise<void>> {
  const { parts, run, principal, tool, call, input } = asking
  const text = JSON.stringify(input)
  const exact = {
    method: 'POST',
    path: `/tools/${tool.name}`,
    bodySha256: () => createHash('sha256').update(text).digest('hex'),
    repeatKey: `${run.runId}/${call.id}`,
  }
  const refuse = (error: unknown) => {
    throw new RefusedCall(toApiError(error), exact, input)
  }
  const access = new Access(parts.grants, principal, exact)
  await access.require([outsideScope]).catch(refuse)
  try {
    requireOfApp(principal, principal.scopes.includes('admin') ? [] : ['write'])
  } catch (error) {
    refuse(error)
  }
  return async () => {
    if (access.mustSpend) await parts.database.transaction((tx) => access.spend(tx)).catch(refuse)
  }
}

async function performCall(
  { perform }: ToolsetParts,
  run: ToolRun,
  principal: Principal,
  call: ModelToolCall,
  operation: string,
  { definitionSha256, ...request }: Request,
): Promise<unknown> {
  const key = `${run.runId}/${call.id}`
  try {
    const answer = await perform(operation, {
      principal,
      client: { address: '', userAgent: 'agent', label: undefined, agentSlug: run.agent.slug, via: 'agent' },
      ...request,
      idempotencyKey: key,
      origin: {
        conversationId: run.threadId,
        agentSlug: run.agent.slug,
        runId: run.runId,
        ...(definitionSha256 !== undefined && { definitionSha256 }),
      },
      signal: run.signal,
      requestId: key,
      counted: ['rest'],
    })
    const collected = await collect(answer, collectedBytes)
    return collected.kind === 'value' ? collected.value : collected.bytes.toString()
  } catch (error) {
    const route = (routes as Record<string, Route>)[operation] as Route
    throw new RefusedCall(
      toApiError(error),
      exactRequest(route, { ...request, idempotencyKey: key }),
      request.body,
    )
  }
}

function isRecord(value: unknown): value is ToolInput {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
