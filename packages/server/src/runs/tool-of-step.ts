type Entry = { id?: unknown; toolId?: unknown; step?: Entry; steps?: Entry[] }

// biome-ignore lint/suspicious/noTemplateCurlyInString: definitions write it so
const marker = '${workspaceId}'

/** Which tool a step of a definition calls. The text may name the workspace, as it was written. */
export function toolOf(definition: string, workspaceId: string, stepId: string): string | undefined {
  const own = definition.replaceAll(marker, workspaceId)
  const { graph } = JSON.parse(own) as { graph: Entry[] }
  const steps = graph.flatMap((entry) => entry.steps ?? (entry.step ? [entry.step] : [entry]))
  const toolId = steps.find(({ id }) => id === stepId)?.toolId
  return typeof toolId === 'string' ? toolId : undefined
}
