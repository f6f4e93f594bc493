import type { StepTarget } from '../durable.ts'
import { anything, lackingKeys, literalAt } from '../flow.ts'
import { isRecord, type JsonRecord, joinPath, own } from '../json.ts'
import { definitionLimits } from '../limits.ts'
import { about, checkFields, type EntryType, type Reading } from '../reading.ts'
import { callStep } from '../step.ts'

/** Calls a tool of the deployment with what came before. What it gives is not known beforehand. */
export const tool: EntryType = {
  kind: 'step',
  read: (raw, place, reading, input) => {
    const { add, references } = reading
    const stepId = reading.claimId(raw, place)
    const fine = checkFields(
      raw,
      place.path,
      { type: 'text', id: 'any?', toolId: 'text', description: 'text?', options: 'record?', args: 'any?' },
      add,
    )
    if (Object.hasOwn(raw, 'args'))
      add(
        'args-not-allowed',
        joinPath(place.path, 'args'),
        'A tool takes what the entry before it gives; put a mapping there.',
      )
    const retries = readRetries(raw, place.path, reading)
    const toolId = own(raw, 'toolId')
    if (typeof toolId === 'string' && references) {
      const known = references.findTool(toolId)
      if (!known) add('unresolved-tool', joinPath(place.path, 'toolId'), `${about(stepId)}no such tool here.`)
      const lacking = input && known?.inputSchema ? lackingKeys(input, known.inputSchema) : []
      if (lacking.length > 0)
        add(
          'incompatible-schema',
          place.path,
          `${about(stepId)}the tool needs ${lacking.join(', ')}, which what comes before cannot give.`,
        )
    }
    if (!fine || !stepId || typeof toolId !== 'string') return { output: anything }
    const isForAgents = literalAt(input, 'answerableBy') === 'agent'
    const target: StepTarget = { kind: 'tool', toolId, ...(isForAgents && { isForAgents }) }
    return {
      step: {
        stepId,
        position: place.position,
        toolId,
        isForAgents,
        perform: (value, turn, run) => callStep(stepId, target, retries, value, turn, run),
      },
      output: anything,
    }
  },
}

function readRetries(raw: JsonRecord, path: string, { add }: Reading): number {
  const options = own(raw, 'options')
  if (!isRecord(options)) return 0
  const at = joinPath(path, 'options')
  checkFields(options, at, { retries: 'any?', metadata: 'record?' }, add)
  const retries = Object.hasOwn(options, 'retries') ? options['retries'] : 0
  if (Number.isInteger(retries) && Number(retries) >= 0 && Number(retries) <= definitionLimits.retries)
    return Number(retries)
  add(
    'invalid-retries',
    joinPath(at, 'retries'),
    `retries is a whole number from 0 to ${definitionLimits.retries}.`,
  )
  return 0
}
