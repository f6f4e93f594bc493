import type { Config } from '#platform/config.ts'
import type { Outbound } from '#platform/outbound.ts'
import { httpRequest } from './http-request.ts'
import { loadOwnTools } from './own-tools.ts'
import { askHuman, requestApproval } from './questions.ts'
import { stubTools } from './stub-tools.ts'
import type { Tool } from './tool.ts'
import { transformJson } from './transform-json.ts'

export { type Tool, type ToolCall, ToolFailure } from './tool.ts'

/** What workflows can name in this deployment. */
export interface Toolbox {
  find(toolId: string): Tool | undefined
  ids(): string[]
  /** For the checks of a definition. */
  inputSchemaOf(toolId: string): Record<string, unknown> | undefined
  /** Throws with what to do when this host lacks what a tool needs. */
  check(): Promise<void>
}

export interface ToolParts {
  readonly config: Pick<Config, 'devTools' | 'httpToolAllow' | 'toolsModule' | 'transformTimeoutMs'>
  readonly outbound: Outbound
}

export const executeSkillTool = 'execute-skill'

/** Here for its schema. The engine carries it out, because it waits durably for the skill. */
const executeSkill: Tool = {
  id: executeSkillTool,
  description: 'Runs an installed skill and waits for its end.',
  gives: '{text, outputBlocks, status, executionId, cost}',
  reach: 'inside',
  isForWorkflows: true,
  inputSchema: {
    type: 'object',
    properties: {
      slug: { type: 'string', minLength: 1, maxLength: 64 },
      input: { type: ['string', 'object', 'array', 'number', 'boolean'] },
    },
    required: ['slug', 'input'],
  },
  quick: false,
  run: async () => {
    throw new Error('execute-skill is carried out by the engine')
  },
}

export function createToolbox({ config, outbound }: ToolParts): Toolbox {
  const all = [
    executeSkill,
    askHuman,
    requestApproval,
    httpRequest(config.httpToolAllow, outbound),
    transformJson(config.transformTimeoutMs),
    ...(config.devTools ? stubTools : []),
    ...loadOwnTools(config.toolsModule),
  ]
  const tools = new Map<string, Tool>()
  for (const tool of all) {
    if (tools.has(tool.id)) throw new Error(`TOOLS_MODULE: there is a tool "${tool.id}" already`)
    tools.set(tool.id, tool)
  }
  return {
    find: (toolId) => tools.get(toolId),
    ids: () => [...tools.keys()],
    inputSchemaOf: (toolId) => tools.get(toolId)?.inputSchema,
    check: async () => {
      for (const tool of tools.values()) await tool.check?.()
    },
  }
}
