import { type Tool, type Toolbox, ToolFailure } from '#machinery/tools/tools.ts'
import { refused, said, type ThreadTool, type ToolInput, type ToolUse, type Used } from './tool.ts'

/** What workflows use too, under the same names; those that wait for people or skills have their own ways in a thread. */
export function toolboxTools(toolbox: Toolbox, names: readonly string[]): ThreadTool[] {
  return names.flatMap((name) => {
    const tool = toolbox.find(name)
    return tool && !tool.isForWorkflows && isForRecords(tool) ? [toThreadTool(tool)] : []
  })
}

/** Models give tools a record of named inputs, and nothing else. */
function isForRecords({ inputSchema: { type = 'object' } }: Tool): boolean {
  return type === 'object' || (Array.isArray(type) && type.includes('object'))
}

function toThreadTool(tool: Tool): ThreadTool {
  const { id: name, description, inputSchema, reach = 'outside', isKeyed = true } = tool
  return {
    name,
    description,
    inputSchema: { ...inputSchema, type: 'object' },
    does: reach === 'inside' ? 'look' : 'outside',
    isKeyed: reach === 'inside' || isKeyed,
    ...(reach === 'inside' && { isOurs: true }),
    summary: (input) => {
      const { url, method = 'GET' } = input
      return typeof url === 'string' ? `${name}: ${method} ${url}`.slice(0, 400) : `Use ${name}`
    },
    use: (input, use) => useTool(tool, input, use),
  }
}

async function useTool(tool: Tool, input: ToolInput, { id, run, principal }: ToolUse): Promise<Used> {
  const { workspaceId, userId, apiKeyId } = principal
  try {
    const result = await tool.run(input, {
      workspaceId,
      userId,
      apiKeyId,
      runId: run.runId,
      stepId: id,
      idempotencyKey: `${run.runId}/${id}`,
      signal: run.signal,
    })
    if (result.kind === 'suspend')
      return refused(`${tool.id} waits for a person, which it can in a workflow only.`)
    return said(result.output)
  } catch (error) {
    run.signal.throwIfAborted()
    return refused(error instanceof ToolFailure || error instanceof Error ? error.message : 'It failed.')
  }
}
