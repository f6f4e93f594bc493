import type { Catalogue, Method } from '../../packages/server/src/transports/mcp/catalogue.ts'
import type { Exchange } from '../../packages/server/src/transports/mcp/exchange.ts'
import { metaName, RpcError } from '../../packages/server/src/transports/mcp/message.ts'
import { isRecord, type RecordOf } from '../../packages/server/src/transports/mcp/shapes.ts'
import { discover } from '../../packages/server/src/transports/mcp/wire.ts'
import {
  accepted,
  ask,
  changeChannel,
  fixtureToolList,
  fixtureTools,
  form,
  png,
} from './mcp-fixture-tools.ts'

/**
 * The official suite asks a server for tools, resources and prompts of its own. They are offered here behind the wire of
 * the product: what is judged is how messages are read, answered, streamed, sealed and passed between processes.
 */
const publicly = { ttlMs: 3_600_000, cacheScope: 'public' } as const
const privately = { ttlMs: 1000, cacheScope: 'private' } as const
const constant = (result: RecordOf, caching: Method['caching'] = publicly): Method => ({
  ...(caching && { caching }),
  constant: result,
})

const resources: ReadonlyMap<string, RecordOf> = new Map<string, RecordOf>([
  [
    'test://static-text',
    { mimeType: 'text/plain', text: 'This is the content of the static text resource.' },
  ],
  ['test://static-binary', { mimeType: 'image/png', blob: png }],
  ['test://watched-resource', { mimeType: 'text/plain', text: 'Watched' }],
])

const text = (value: string) => ({ type: 'text', text: value })
const prompts: ReadonlyMap<string, { needs: string[]; say(args: RecordOf): RecordOf[] }> = new Map([
  ['test_simple_prompt', { needs: [], say: () => [text('This is a simple prompt for testing.')] }],
  [
    'test_prompt_with_arguments',
    {
      needs: ['arg1', 'arg2'],
      say: (args: RecordOf) => [
        text(`Prompt with arguments: arg1='${String(args['arg1'])}', arg2='${String(args['arg2'])}'`),
      ],
    },
  ],
  [
    'test_prompt_with_embedded_resource',
    {
      needs: ['resourceUri'],
      say: (args: RecordOf) => [
        {
          type: 'resource',
          resource: { uri: args['resourceUri'], mimeType: 'text/plain', text: 'Embedded for testing.' },
        },
        text('Look at the resource.'),
      ],
    },
  ],
  [
    'test_prompt_with_image',
    {
      needs: [],
      say: () => [{ type: 'image', data: png, mimeType: 'image/png' }, text('Look at the image.')],
    },
  ],
])
const askingPrompt = 'test_input_required_result_prompt'

async function callTool(exchange: Exchange) {
  const { id, params } = exchange.request
  const tool = fixtureTools.get(String(params['name']))
  if (!tool) throw new RpcError('invalidParams', 'Unknown tool', { id })
  return tool(exchange)
}

async function readResource({ request: { id, era, params } }: Exchange): Promise<RecordOf> {
  const { uri } = params
  const named = typeof uri === 'string' ? /^test:\/\/template\/([^/]+)\/data$/.exec(uri)?.[1] : undefined
  const content =
    named === undefined
      ? resources.get(String(uri))
      : {
          mimeType: 'application/json',
          text: JSON.stringify({ id: named, templateTest: true, data: `Data for ID: ${named}` }),
        }
  if (content) return { contents: [{ uri, ...content }] }
  throw new RpcError(era === 'modern' ? 'invalidParams' : 'resourceNotFound', 'Resource not found', {
    id,
    data: { uri },
  })
}

async function getPrompt(exchange: Exchange) {
  const { id, params } = exchange.request
  if (params['name'] === askingPrompt) {
    const answer = accepted(exchange, 'user_context')
    if (!answer) return ask({ user_context: form('In which context?', { context: { type: 'string' } }) })
    return { messages: [{ role: 'user', content: text(`In the context of ${String(answer['context'])}`) }] }
  }
  const prompt = prompts.get(String(params['name']))
  if (!prompt) throw new RpcError('invalidParams', 'Unknown prompt', { id })
  const args = isRecord(params['arguments']) ? params['arguments'] : {}
  return { messages: prompt.say(args).map((content) => ({ role: 'user', content })) }
}

const kinds = { toolsListChanged: 'tools', promptsListChanged: 'prompts' }

async function listen(exchange: Exchange): Promise<RecordOf> {
  const { id, params } = exchange.request
  const filter = isRecord(params['notifications']) ? params['notifications'] : {}
  const honoured = Object.keys(kinds).filter((name) => filter[name] === true)
  const heard = honoured.map((name) => kinds[name as keyof typeof kinds])
  const _meta = { [metaName('subscriptionId')]: id }
  const ended = Promise.withResolvers<void>()
  const leave = exchange.bus.listen(changeChannel(exchange), (what) => {
    if (heard.includes(what)) void exchange.notify(`notifications/${what}/list_changed`, { _meta })
  })
  await exchange.notify('notifications/subscriptions/acknowledged', {
    notifications: Object.fromEntries(honoured.map((name) => [name, true])),
    _meta,
  })
  for (const signal of [exchange.signal, exchange.stopping])
    signal.addEventListener('abort', () => ended.resolve(), { once: true })
  await ended.promise
  leave()
  return { _meta }
}

const said: Pick<Catalogue, 'capabilities' | 'instructions'> = {
  instructions: 'For the suite',
  capabilities: (era) =>
    era === 'modern'
      ? { tools: { listChanged: true }, prompts: { listChanged: true }, resources: {}, completions: {} }
      : { tools: {}, prompts: {}, resources: { subscribe: true }, completions: {}, logging: {} },
}
const legacyOnly: Method = { era: 'legacy', handle: async () => ({}) }

export const fixtureCatalogue: Catalogue = {
  ...said,
  serverInfo: { name: 'guildhall-fixture', version: '0.1.0' },
  methods: new Map<string, Method>([
    ['server/discover', discover(said)],
    ['tools/list', constant({ tools: fixtureToolList })],
    ['tools/call', { handle: callTool }],
    [
      'resources/list',
      constant(
        { resources: [...resources].map(([uri, { mimeType }]) => ({ uri, name: uri, mimeType })) },
        privately,
      ),
    ],
    [
      'resources/templates/list',
      constant({ resourceTemplates: [{ uriTemplate: 'test://template/{id}/data', name: 'template' }] }),
    ],
    ['resources/read', { caching: privately, handle: readResource }],
    [
      'prompts/list',
      constant({
        prompts: [
          ...[...prompts].map(([name, { needs }]) => ({
            name,
            description: `For the suite: ${name}`,
            arguments: needs.map((each) => ({ name: each, description: each, required: true })),
          })),
          { name: askingPrompt, description: 'For the suite: asks first' },
        ],
      }),
    ],
    ['prompts/get', { handle: getPrompt }],
    [
      'completion/complete',
      { handle: async () => ({ completion: { values: [], total: 0, hasMore: false } }) },
    ],
    ['subscriptions/listen', { era: 'modern', handle: listen }],
    ['resources/subscribe', legacyOnly],
    ['resources/unsubscribe', legacyOnly],
    ['logging/setLevel', legacyOnly],
  ]),
}
