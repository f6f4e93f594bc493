import type { Method } from './catalogue.ts'
import type { Exchange } from './exchange.ts'
import { RpcError } from './message.ts'
import {
  type CompleteResult,
  type GetPromptResult,
  isRecord,
  type ListPromptsResult,
  type RecordOf,
} from './shapes.ts'

interface Prompt {
  readonly title: string
  readonly description: string
  readonly arguments: readonly {
    readonly name: string
    readonly description: string
    readonly required: boolean
  }[]
  say(args: RecordOf): string
}

/** Fixed, and without a word of any skill: the extension for skills is the channel for those. */
const prompts: ReadonlyMap<string, Prompt> = new Map([
  [
    'run-skill',
    {
      title: 'Run a skill',
      description: 'Run an installed skill and tell what came of it',
      arguments: [
        { name: 'skill', description: 'The slug of the skill', required: true },
        { name: 'input', description: 'The task', required: true },
      ],
      say: ({ skill, input }) =>
        `Call the tool run_skill with slug ${JSON.stringify(skill)} and this input, follow it with get_execution until it is over, and tell me the result:\n\n${String(input)}`,
    },
  ],
  [
    'launch-workflow',
    {
      title: 'Launch a workflow',
      description: 'Launch a workflow and tell what came of it',
      arguments: [{ name: 'workflow', description: 'The slug of the workflow', required: true }],
      say: ({ workflow }) =>
        `Find the workflow ${JSON.stringify(workflow)} with list_workflows, ask me for the inputs it needs, launch it with launch_workflow and an idempotency_key, follow it with get_workflow_run and tell me the result. What it asks of a person is mine to answer.`,
    },
  ],
  [
    'go-on-with',
    {
      title: 'Go on with a trace',
      description: 'Read what was done and go on with it',
      arguments: [{ name: 'trace', description: 'The id of the trace', required: true }],
      say: ({ trace }) =>
        `Read the resource guildhall://traces/${String(trace)}, tell me in a few words where the work stands, go on with it, and record what you do with append_trace.`,
    },
  ],
])

const promptList: ListPromptsResult = {
  prompts: [...prompts].map(([name, { title, description, arguments: args }]) => ({
    name,
    title,
    description,
    arguments: [...args],
  })),
}

export const promptMethods: readonly [string, Method][] = [
  [
    'prompts/list',
    {
      caching: { ttlMs: 3_600_000, cacheScope: 'public' },
      constant: promptList as unknown as RecordOf,
    },
  ],
  ['prompts/get', { handle: getPrompt }],
  ['completion/complete', { handle: complete }],
]

async function getPrompt({ request: { id, params } }: Exchange): Promise<RecordOf> {
  const prompt = typeof params['name'] === 'string' ? prompts.get(params['name']) : undefined
  if (!prompt)
    throw new RpcError('invalidParams', 'Unknown prompt; prompts/list names those there are', { id })
  const given = isRecord(params['arguments']) ? params['arguments'] : {}
  const missing = prompt.arguments.find(
    ({ name }) => !Object.hasOwn(given, name) || typeof given[name] !== 'string',
  )
  if (missing) throw new RpcError('invalidParams', `arguments.${missing.name}: is needed, as text`, { id })
  const result: GetPromptResult = {
    description: prompt.description,
    messages: [{ role: 'user', content: { type: 'text', text: prompt.say(given) } }],
  }
  return { ...result }
}

const mostValues = 20

/** Names of skills and workflows that begin as the person began. */
async function complete(exchange: Exchange): Promise<RecordOf> {
  const { argument } = exchange.request.params
  const { name, value } = isRecord(argument) ? argument : {}
  if (typeof name !== 'string' || typeof value !== 'string')
    throw new RpcError('invalidParams', 'argument: needs name and value', { id: exchange.request.id })
  const found = (await namesFor(exchange, name)).filter((slug) => slug.startsWith(value.toLowerCase()))
  const completion = {
    values: found.slice(0, mostValues),
    total: found.length,
    hasMore: found.length > mostValues,
  }
  const result: CompleteResult = { completion }
  return { ...result }
}

async function namesFor(exchange: Exchange, argument: string): Promise<string[]> {
  if (argument === 'skill' || argument === 'slug') {
    return (await exchange.listSkills({ limit: 200, offset: 0 })).map(({ slug }) => slug)
  }
  if (argument === 'workflow') {
    const answer = await exchange.caller.perform('listWorkflowDefinitions')
    return (answer as { workflows: readonly { slug: string }[] }).workflows.map(({ slug }) => slug)
  }
  return []
}
