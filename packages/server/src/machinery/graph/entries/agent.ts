import type { StepTarget } from '../durable.ts'
import { closedRecord, lacksKey, type Shape, shapeOfSchema, text } from '../flow.ts'
import { isRecord, joinPath, own } from '../json.ts'
import { about, checkFields, type EntryType, type Reading } from '../reading.ts'
import { checkSchema } from '../schema.ts'
import { callStep, failed, type Step } from '../step.ts'

const reply = closedRecord([['text', text]])

/** Asks an agent of the workspace: `{prompt}` in, `{text}` or the value its outputSchema describes out. */
export const agent: EntryType = {
  kind: 'step',
  read: (raw, place, reading, input) => {
    const { add } = reading
    const stepId = reading.claimId(raw, place)
    const fine = checkFields(
      raw,
      place.path,
      { type: 'text', id: 'any?', agentId: 'text', description: 'text?', outputSchema: 'any?' },
      add,
    )
    const schema = own(raw, 'outputSchema')
    const hasSchema =
      schema !== undefined && checkSchema(schema, joinPath(place.path, 'outputSchema'), add, reading.patterns)
    const agentId = own(raw, 'agentId')
    const slug = typeof agentId === 'string' ? slugOf(agentId, reading) : undefined
    if (typeof agentId === 'string' && slug === undefined)
      add(
        'unresolved-agent',
        joinPath(place.path, 'agentId'),
        `${about(stepId)}no such agent in this workspace.`,
      )
    if (input && cannotPrompt(input))
      add(
        'incompatible-schema',
        place.path,
        `${about(stepId)}an agent needs a text called prompt, which what comes before cannot give.`,
      )
    const output = hasSchema ? shapeOfSchema(schema) : schema === undefined ? reply : shapeOfSchema({})
    if (stepId) reading.describe(stepId, output)
    if (!fine || !stepId || slug === undefined) return { output }
    const target = {
      kind: 'agent' as const,
      slug,
      ...(hasSchema && isRecord(schema) && { outputSchema: schema }),
    }
    return { step: agentStep(stepId, place.position, target), output }
  },
}

function agentStep(
  stepId: string,
  position: readonly number[],
  target: Extract<StepTarget, { kind: 'agent' }>,
): Step {
  return {
    stepId,
    position,
    agentSlug: target.slug,
    perform: function* (input, turn, run) {
      const prompt = isRecord(input) ? own(input, 'prompt') : undefined
      if (typeof prompt !== 'string')
        return failed(run, stepId, {
          code: 'STEP_INPUT_INVALID',
          message: 'An agent needs a text called prompt.',
        })
      return yield* callStep(stepId, target, 0, { prompt }, turn, run)
    },
  }
}

/** `{workspace}:{slug}` of this workspace or the bare slug; another workspace's agent looks like none at all. */
export function agentSlugOf(agentId: string, workspaceId: string): string | undefined {
  const own = `${workspaceId}:`
  const slug = agentId.startsWith(own) ? agentId.slice(own.length) : agentId
  return slug === '' || slug.includes(':') ? undefined : slug
}

function slugOf(agentId: string, { workspaceId, references }: Reading): string | undefined {
  const slug = agentSlugOf(agentId, workspaceId)
  return slug === undefined || !references || references.hasAgent(slug) ? slug : undefined
}

function cannotPrompt(input: Shape): boolean {
  if (lacksKey(input, 'prompt')) return true
  const prompt = input.kind === 'record' ? input.keys.get('prompt') : undefined
  return prompt !== undefined && prompt.kind !== 'text' && prompt.kind !== 'anything'
}
