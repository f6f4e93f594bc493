import { mcpInstructions } from '@guildhall/contract'
import type { RawRoute } from '#transports/http/raw-route.ts'
import { toolMethods } from './call-tool.ts'
import type { Catalogue } from './catalogue.ts'
import type { Exchange } from './exchange.ts'
import { listenMethods } from './listen.ts'
import { promptMethods } from './prompts.ts'
import { resourceMethods } from './resources.ts'
import type { EventNote } from './sealed.ts'
import type { RecordOf, ServerCapabilities } from './shapes.ts'
import { skillMethods, skillsExtension } from './skills-extension.ts'
import { taskMethods } from './task-methods.ts'
import { followExecution } from './tools/executions.ts'
import type { ToolParts } from './tools/tool.ts'
import { followRun } from './tools/workflows.ts'
import { createWire, discover, type WireParts } from './wire.ts'

export type { Catalogue } from './catalogue.ts'

/** What a door for agents stands on. */
export interface McpParts extends WireParts, Pick<ToolParts, 'findRecentDenial' | 'findAddressee'> {}

/** MCP at /mcp/; another catalogue is served by the same wire. */
export function mcpRoutes(parts: McpParts, catalogue: Catalogue = ownCatalogue(parts)): RawRoute[] {
  return createWire(parts, catalogue)
}

function ownCatalogue(parts: McpParts): Catalogue {
  const { config, logger, metrics } = parts
  const toolParts = {
    logger,
    metrics,
    appUrl: config.appUrl,
    findRecentDenial: parts.findRecentDenial,
    findAddressee: parts.findAddressee,
  }
  const said = { capabilities, instructions: mcpInstructions }
  return {
    ...said,
    serverInfo: { name: 'guildhall', title: 'Guildhall', version: '0.1.0' },
    methods: new Map([
      ['server/discover', discover(said)],
      ...toolMethods(toolParts),
      ...taskMethods,
      ...listenMethods(),
      ...resourceMethods(config.publicUrl),
      ...skillMethods,
      ...promptMethods,
    ]),
    resume: goOn,
  }
}

/** Nothing of what is listed changes while a client is there but resources, and those say so to listeners alone. */
function capabilities(era: 'modern' | 'legacy'): ServerCapabilities {
  return {
    tools: { listChanged: false },
    prompts: { listChanged: false },
    resources: era === 'modern' ? { listChanged: true, subscribe: true } : { listChanged: false },
    completions: {},
    extensions: {
      [skillsExtension]: {},
      ...(era === 'modern' && { 'io.modelcontextprotocol/tasks': {} }),
    },
  }
}

async function goOn(exchange: Exchange, note: EventNote): Promise<RecordOf> {
  const { kind, target, after, until, progress: told } = note
  const result = await (kind === 'execution'
    ? followExecution(exchange, { executionId: target, after, until, told })
    : followRun(exchange, { runId: target, until, told }))
  return { ...result }
}
