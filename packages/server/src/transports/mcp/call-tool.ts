import { type McpTool, type McpToolName, mcpTools } from '@guildhall/contract'
import { ApiError, toApiError } from '#operations/errors.ts'
import { bodyValidator } from '#operations/validators.ts'
import type { Logger } from '#platform/logger.ts'
import { toPrintable } from '#platform/printable.ts'
import { throughBridge } from './bridge.ts'
import { InputRequired, type Method } from './catalogue.ts'
import type { Exchange } from './exchange.ts'
import { RpcError } from './message.ts'
import { type CallToolResult, isRecord, type ListToolsResult, type RecordOf } from './shapes.ts'
import { describeTask } from './task-methods.ts'
import { toolError } from './tool-error.ts'
import { cancelExecution, getExecution, runSkill } from './tools/executions.ts'
import { appendTrace, askPerson, messageAgent, requestPermission, whoami } from './tools/people.ts'
import { getSkill, installSkill, searchSkills } from './tools/skills.ts'
import { refusedTool, Started, type ToolHandlers, type ToolParts, type ToolUse } from './tools/tool.ts'
import { getWorkflowRun, launchWorkflow, listWorkflows, resumeWorkflow } from './tools/workflows.ts'

/** A tool without a handler, or a handler without a tool, does not compile. */
const handlers: ToolHandlers = {
  whoami,
  search_skills: searchSkills,
  get_skill: getSkill,
  install_skill: installSkill,
  run_skill: runSkill,
  get_execution: getExecution,
  cancel_execution: cancelExecution,
  list_workflows: listWorkflows,
  launch_workflow: launchWorkflow,
  get_workflow_run: getWorkflowRun,
  resume_workflow: resumeWorkflow,
  message_agent: messageAgent,
  append_trace: appendTrace,
  request_permission: requestPermission,
  ask_person: askPerson,
}

interface ReadyTool {
  readonly name: string
  readonly title: string
  check(args: unknown): string | undefined
  use(args: RecordOf, use: ToolUse): Promise<CallToolResult | Started | InputRequired>
}

/** A map, and no object: a tool may be asked for by the name `constructor`. */
const ready: ReadonlyMap<string, ReadyTool> = new Map(
  Object.entries<Omit<McpTool, 'name'>>(mcpTools).map(([name, tool]) => [name, toReady(name, tool)]),
)

function toReady(name: string, { title, input }: Omit<McpTool, 'name'>): ReadyTool {
  const validate = bodyValidator.compile(input)
  const handler = handlers[name as McpToolName] as (
    args: RecordOf,
    use: ToolUse,
  ) => Promise<CallToolResult | Started | InputRequired>
  return {
    name,
    title,
    check: (args) => {
      if (validate(args)) return undefined
      const [issue] = validate.errors ?? []
      const path = issue?.instancePath.slice(1).replaceAll('/', '.')
      const extra = issue?.params['additionalProperty']
      return `${path || 'arguments'}: ${issue?.message ?? 'do not fit'}${extra === undefined ? '' : ` (${String(extra).slice(0, 60)})`}`
    },
    use: handler,
  }
}

/** The same for every caller, to the byte: nothing of a tenant stands in it. */
const toolList: ListToolsResult = {
  tools: Object.entries<Omit<McpTool, 'name'>>(mcpTools).map(
    ([name, { title, description, input, output, annotations }]) => ({
      name,
      title,
      description,
      inputSchema: plain(input) as ListToolsResult['tools'][number]['inputSchema'],
      outputSchema: plain(output) as NonNullable<ListToolsResult['tools'][number]['outputSchema']>,
      ...(Object.keys(annotations).length > 0 && { annotations }),
    }),
  ),
}

/** Without what the schema library keeps for itself. */
function plain(schema: object): unknown {
  return JSON.parse(JSON.stringify(schema))
}

export function toolMethods(parts: ToolParts & { readonly logger: Logger }): [string, Method][] {
  return [
    [
      'tools/list',
      {
        caching: { ttlMs: 3_600_000, cacheScope: 'public' },
        constant: toolList as unknown as RecordOf,
      },
    ],
    ['tools/call', { handle: (exchange) => callTool(parts, exchange) }],
  ]
}

async function callTool(
  parts: ToolParts & { readonly logger: Logger },
  exchange: Exchange,
): Promise<RecordOf | InputRequired> {
  const { id, params } = exchange.request
  const { name, arguments: given = {} } = params
  const tool = typeof name === 'string' ? ready.get(name) : undefined
  if (!tool) throw new RpcError('invalidParams', 'Unknown tool; tools/list names those there are', { id })
  if (!isRecord(given)) throw new RpcError('invalidParams', 'arguments: must be an object', { id })
  const problem = tool.check(given)
  if (problem !== undefined) return { ...refusedTool(`INVALID_INPUT: ${problem}`, { code: 'INVALID_INPUT' }) }
  try {
    const asked = { name: tool.name, args: given, summary: summaryOf(tool.title, given) }
    const used = await throughBridge(parts, exchange, asked, (use) => tool.use(given, use))
    if (used instanceof InputRequired) return used
    if (used instanceof Started && exchange.hasTasks) {
      parts.metrics.mcpToolCalls.inc({ tool: tool.name, outcome: 'task' })
      return await describeTask(exchange, used.task)
    }
    const result = used instanceof Started ? await used.follow() : used
    parts.metrics.mcpToolCalls.inc({ tool: tool.name, outcome: result.isError ? 'refused' : 'ok' })
    return { ...result }
  } catch (error) {
    parts.metrics.mcpToolCalls.inc({ tool: tool.name, outcome: exchange.signal.aborted ? 'left' : 'refused' })
    return refuse(parts, exchange, error)
  }
}

/** What a person reads who is asked; the arguments themselves are shown beside it. What a model wrote looks like one name. */
function summaryOf(title: string, args: RecordOf): string {
  const named = args['slug'] ?? args['workflow'] ?? args['agent'] ?? args['execution_id'] ?? args['run_id']
  const name = typeof named === 'string' ? toPrintable(named, 100) : ''
  return name === '' ? title : `${title}: ${name}`
}

function refuse({ logger }: { readonly logger: Logger }, exchange: Exchange, error: unknown): RecordOf {
  exchange.signal.throwIfAborted()
  if (error instanceof RpcError) throw error
  const refusal = toApiError(error)
  if (refusal.code === 'UNAUTHORIZED' || isStepUp(exchange, refusal)) throw refusal
  if (refusal.status >= 500 && !(error instanceof ApiError))
    logger.error({ requestId: exchange.caller.requestId, err: error }, 'tool failed')
  return { ...toolError(refusal, exchange.caller.requestId) }
}

/** An app gets the right it lacks at the authorization server: the status and the challenge tell its client so. */
function isStepUp({ caller, isStreaming }: Exchange, { code, details }: ApiError): boolean {
  return (
    caller.principal.kind === 'oauth' &&
    !isStreaming &&
    code === 'FORBIDDEN' &&
    details?.['missing_scopes'] !== undefined
  )
}
