import { compileDefinition, usesOf } from '#machinery/graph/graph.ts'
import type { Toolbox } from '#machinery/tools/tools.ts'
import { agentTools } from './agent-tools.ts'
import type { ToolsetParts } from './parts.ts'
import { skillTools } from './skill-tools.ts'
import type { ThreadTool, ToolRun } from './tool.ts'
import { toolboxTools } from './toolbox-tools.ts'
import { workflowTools } from './workflow-tools.ts'

/** What the agent's list of groups and tools comes to here. Names that nothing has are left out. */
export function toolsOf({ toolbox }: Pick<ToolsetParts, 'toolbox'>, run: ToolRun): ThreadTool[] {
  const { tools: named, skills } = run.agent
  return [
    ...(named.includes('skills') || skills.length > 0 ? skillTools(run) : []),
    ...(named.includes('workflows') ? workflowTools(reachOf(toolbox, run)) : []),
    ...(named.includes('agents') ? agentTools(run) : []),
    ...toolboxTools(toolbox, named),
  ]
}

/** An agent may have tools of its own, so a step that asks one counts as much as a tool that reaches outside. */
function reachOf(toolbox: Toolbox, { workspaceId }: ToolRun) {
  return (definition: string): boolean => {
    const { workflow } = compileDefinition(definition, { workspaceId })
    if (!workflow) return true
    const { toolIds, agentSlugs } = usesOf(workflow)
    return agentSlugs.length > 0 || toolIds.some((id) => toolbox.find(id)?.reach !== 'inside')
  }
}
