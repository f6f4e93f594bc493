import { type Action, type AskChoice, askLifetimeSeconds, askSchemaBytes } from '@guildhall/contract'
import { type AppliedKind, type Asked, ask, type Choice, refuseLarge } from '#access/approvals/approvals.ts'
import { lockKeyScopes } from '#access/keys/keys.ts'
import { issuesOfSchema, jsonBytes, validateValue } from '#machinery/graph/graph.ts'
import { ApiError } from '#operations/errors.ts'
import type { Principal } from '#operations/principal.ts'
import type { Tx } from '#platform/database.ts'

interface Question {
  readonly question: string
  readonly choices?: readonly AskChoice[] | undefined
  readonly schema?: Record<string, unknown> | undefined
}

export interface Ask extends Question {
  readonly action: Action | undefined
  readonly expiresIn: number | undefined
}

/** What a person said, in the fields in which the agent reads it. */
export interface AskAnswer {
  readonly choice?: string
  readonly answer?: unknown
  readonly edited_args?: unknown
}

/** Puts a question of a key's agent before its person. An equal one that waits is the same, however long it may wait. */
export async function askPerson(tx: Tx, key: Principal, asked: Ask): Promise<Asked> {
  const { question, choices, schema, action, expiresIn = askLifetimeSeconds.otherwise } = asked
  refuseLarge(action?.args, 'action.args')
  refuseTwins(choices ?? [])
  if (schema) refuseSchema(schema)
  await lockKeyScopes(tx, key.credentialId)
  const request = {
    kind: 'ask',
    scopes: [],
    mode: null,
    reason: null,
    action: action ?? null,
    question: { question, choices, schema },
  } as const
  return ask(tx, key, request, expiresIn)
}

function refuseTwins(choices: readonly AskChoice[]): void {
  const ids = choices.map(({ id }) => id)
  const twin = ids.find((id, index) => ids.indexOf(id) !== index)
  if (twin !== undefined)
    throw new ApiError('INVALID_INPUT', { message: `choices: "${twin}" stands there twice; give each an id` })
}

function refuseSchema(schema: Record<string, unknown>): void {
  if (jsonBytes(schema) > askSchemaBytes)
    throw new ApiError('INVALID_INPUT', { message: `schema: at most ${askSchemaBytes} bytes as JSON` })
  const { issues } = issuesOfSchema(schema, 'schema')
  if (issues.length === 0) return
  const [first] = issues
  throw new ApiError('INVALID_INPUT', {
    message: `${first?.path}: ${first?.message}`,
    details: { issues },
  })
}

/** What an agent asks about an act of its own. The answer is passed on and has no effect here. */
export const askKind: AppliedKind = {
  decidedBy: 'owner',
  decidedOn: 'inbox',
  lines: { granted: 'ask.answered', denied: 'ask.denied' },
  describe: ({ question, answer, closed, closed_because: because }) => ({
    ask: {
      ...(question as Question),
      ...(answer as AskAnswer | null),
      ...(closed === 'withdrawn' && { withdrawn: { because } }),
    },
  }),
  meant: ({ question }, given) => {
    if (given.status === 'denied') return given
    const { choice } = given.choice
    const isNo = chosenOf(question as Question, choice)?.kind === 'deny'
    return isNo ? { status: 'denied', reason: null, choice } : given
  },
  apply: async (_tx, _person, { question, action }, decision) => {
    if (decision.status === 'denied') {
      const { reason, choice } = decision
      const told = choice === undefined ? {} : { choice }
      return { details: { ...told, ...(reason !== null && { reason }) }, answer: told }
    }
    const answer = readAnswer(question as Question, action as Action | null, decision.choice)
    return { details: answer.choice === undefined ? {} : { choice: answer.choice }, answer }
  },
}

/** The choice that was made; refused when it is none of those that were offered, or left out where there are some. */
function chosenOf({ choices }: Question, id: string | undefined): AskChoice | undefined {
  if (choices === undefined && id === undefined) return undefined
  const chosen = choices?.find((choice) => choice.id === id)
  if (chosen) return chosen
  const ids = choices?.map((choice) => choice.id) ?? []
  throw new ApiError('INVALID_INPUT', {
    message: choices ? `choice: one of ${ids.join(', ')}` : 'choice: none was offered; leave it out',
    details: { choices: ids },
  })
}

function readAnswer(asked: Question, action: Action | null, said: Choice): AskAnswer {
  const chosen = chosenOf(asked, said.choice)
  const { answer, editedArgs } = said
  refuseLarge(answer, 'answer')
  refuseLarge(editedArgs, 'edited_args')
  if (editedArgs !== undefined && action?.args === undefined)
    throw new ApiError('INVALID_INPUT', {
      message: 'edited_args: this ask has no args to change; leave it out',
    })
  refuseUnfit(asked.schema, answer, (chosen?.kind ?? 'answer') === 'answer')
  return {
    ...(chosen && { choice: chosen.id }),
    ...(answer !== undefined && { answer }),
    ...(editedArgs !== undefined && { edited_args: editedArgs }),
  }
}

/** By the validator of workflows: whatever schema and answer meet, the work is bounded. */
function refuseUnfit(schema: Record<string, unknown> | undefined, answer: unknown, isNeeded: boolean): void {
  if (!schema || (answer === undefined && !isNeeded)) return
  if (answer === undefined)
    throw new ApiError('INVALID_INPUT', { message: 'answer: this ask needs one that fits its schema' })
  const issues = validateValue(schema, answer)
  if (issues.length === 0) return
  throw new ApiError('INVALID_INPUT', {
    message: 'answer: does not fit the schema of the ask; details.issues says where',
    details: { issues },
  })
}
