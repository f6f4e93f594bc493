import { outputOf, type Tool } from './tool.ts'

/** Waits for what a person says. */
export const askHuman: Tool = {
  id: 'ask-human',
  description: 'Asks a person and goes on with the answer.',
  gives: '{answer}',
  reach: 'inside',
  isForWorkflows: true,
  inputSchema: {
    type: 'object',
    properties: {
      question: { type: 'string', minLength: 1, maxLength: 10_000 },
      choices: {
        type: 'array',
        items: { type: 'string', minLength: 1, maxLength: 500 },
        minItems: 1,
        maxItems: 50,
      },
      answerableBy: { type: 'string', enum: ['person', 'agent'] },
    },
    required: ['question'],
  },
  quick: true,
  run: async (input, { answer, isForAgents }) => {
    if (answer) return outputOf({ answer: spoken(answer.data) })
    const { question, choices, answerableBy } = input as {
      question: string
      choices?: string[]
      answerableBy?: string
    }
    // Said by what flows it may be said by whoever launched the run, who would then answer for people.
    const by = answerableBy && { answerableBy: isForAgents ? answerableBy : 'person' }
    const told = { ...(choices && { choices }), ...by }
    return { kind: 'suspend', payload: { kind: 'question', question, ...told } }
  },
  isForAgents: (payload) => isRecord(payload) && payload['answerableBy'] === 'agent',
  checkAnswer: (data, payload) => {
    const answer = spoken(data)
    if (typeof answer !== 'string') return ['resumeData must be a text, or { answer } with a text']
    const { choices } = payload as { choices?: string[] }
    return !choices || choices.includes(answer) ? [] : [`the answer must be one of: ${choices.join(', ')}`]
  },
}

function spoken(data: unknown): unknown {
  return isRecord(data) ? data['answer'] : data
}

/** Waits for a yes or a no. A no is an answer and not a failure. */
export const requestApproval: Tool = {
  id: 'request-approval',
  description: 'Asks a person to allow something and goes on with the decision.',
  gives: '{approved, note}, a no included',
  reach: 'inside',
  isForWorkflows: true,
  inputSchema: {
    type: 'object',
    properties: { action: { type: 'string', minLength: 1, maxLength: 10_000 }, details: {} },
    required: ['action'],
  },
  quick: true,
  run: async (input, { answer }) => {
    if (answer) {
      const { approved, note = null } = answer.data as { approved: boolean; note?: string }
      return outputOf({ approved, note })
    }
    const { action, details } = input as { action: string; details?: unknown }
    const told = details === undefined ? {} : { details }
    return { kind: 'suspend', payload: { kind: 'approval', action, ...told } }
  },
  checkAnswer: (data) => {
    if (!isRecord(data)) return ['resumeData must be { approved, note? }']
    const { approved, note } = data
    return [
      ...(typeof approved === 'boolean' ? [] : ['resumeData.approved must be true or false']),
      ...(note === undefined || typeof note === 'string' ? [] : ['resumeData.note must be a text']),
    ]
  },
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
