import { composeStep } from './compose/compose.ts'
import { closingStep, defaultStep } from './default-run.ts'
import { isObject, type ModelRequest, need, type Turn } from './protocol.ts'
import type { Step } from './step.ts'

const fence = /```script\s*\n([\s\S]*?)```/

/** Decided by the conversation alone, so that any number of endpoints would say the same. */
export function nextStep(request: ModelRequest): Step {
  const { turns } = request
  const asked = turns.findLastIndex(({ role }) => role === 'user')
  const repliesSince = turns.slice(asked + 1).filter(({ role }) => role === 'assistant').length
  const script = scriptIn(turns[asked])
  if (!script) return composeStep(request) ?? defaultStep(request, repliesSince)
  const step = script[repliesSince] ?? closingStep(request, 'Done.')
  return step.obey ? (orderIn(turns.at(-1)) ?? step) : step
}

/** The first step that a tool's output, or somebody else's text in it, tells the model to take. */
function orderIn(turn: Turn | undefined): Step | undefined {
  if (turn?.role !== 'tool') return undefined
  for (const output of turn.outputs) {
    // Outputs are mostly JSON, where a script stands in a text.
    const order = scriptIn({ role: 'user', text: output.replaceAll('\\n', '\n').replaceAll('\\"', '"') })?.[0]
    if (order) return order
  }
  return undefined
}

function scriptIn(turn: Turn | undefined): Step[] | undefined {
  const text = turn?.role === 'user' ? fence.exec(turn.text)?.[1] : undefined
  if (text === undefined) return undefined
  let script: unknown
  try {
    script = JSON.parse(text)
  } catch (error) {
    need(false, `The script is not JSON: ${(error as Error).message}`)
  }
  need(isObject(script) && Array.isArray(script['steps']), 'The script needs a list "steps"')
  need(script['steps'].every(isObject), 'Each step of the script must be an object')
  return script['steps'] as Step[]
}
