import { type Static, Type } from 'typebox'
import { Action, Wait } from './consent.ts'
import { actionArgsLimits, askLifetimeSeconds } from './limits.ts'
import { defineRoutes } from './route.ts'
import { AnyFields, Name, Success } from './shapes.ts'
import { openArguments } from './weight.ts'

export const AskChoice = Type.Object(
  {
    id: Type.String({ minLength: 1, maxLength: 64 }),
    label: Name(200),
    kind: Type.Enum(['allow', 'deny', 'answer'], {
      description: 'deny: whoever chooses it says no; answer: it needs an answer, where there is a schema',
    }),
  },
  { title: 'AskChoice' },
)
export type AskChoice = Static<typeof AskChoice>

const AnyJson = (description: string) => Type.Optional(Type.Unsafe<unknown>({ description }))
const bounds = `At most ${actionArgsLimits.bytes} bytes as JSON and ${actionArgsLimits.depth} levels deep`

/** What a person says with a yes to an ask. */
export const AskAnswer = {
  choice: Type.Optional(Type.String({ maxLength: 64 })),
  answer: AnyJson(`Fits the schema of the ask, if it has one. ${bounds}`),
  edited_args: AnyJson(`In place of the args of its action, where it has any. ${bounds}`),
}

const AskParam = Type.Object({ askId: Type.String() })

export const askRoutes = defineRoutes({
  askPerson: {
    method: 'POST',
    path: '/api/v1/agents/ask',
    summary: 'Ask the person about an act of your own; nothing is granted by the answer',
    description:
      'Show approval_url to the person and poll. Equal asks that wait share an id; 429 when five requests of this key wait.',
    resource: 'asks',
    verb: 'create',
    tag: 'agents',
    audience: 'key',
    changes: ['approvals'],
    limits: ['rest'],
    creates: true,
    weight: openArguments,
    body: Type.Object({
      question: Type.String({ minLength: 1, maxLength: 500, pattern: '\\S' }),
      action: Type.Optional(Action),
      choices: Type.Optional(Type.Array(AskChoice, { minItems: 1, maxItems: 20 })),
      schema: Type.Optional(AnyFields),
      expires_in: Type.Optional(
        Type.Integer({
          minimum: askLifetimeSeconds.least,
          maximum: askLifetimeSeconds.most,
          description: `Seconds; ${askLifetimeSeconds.otherwise} when left out`,
        }),
      ),
    }),
    responses: {
      202: Type.Object({
        status: Type.Literal('pending'),
        ask_id: Type.String(),
        approval_url: Type.String(),
        poll_url: Type.String(),
        poll_interval_seconds: Type.Number(),
      }),
    },
    errors: ['INVALID_INPUT', 'RATE_LIMITED'],
    example: {
      body: {
        question: 'May I run the migration on staging?',
        action: { summary: 'Run the migration', tool: 'bash', args: { command: 'npm run migrate' } },
        choices: [
          { id: 'yes', label: 'Run it', kind: 'allow' },
          { id: 'no', label: 'Leave it', kind: 'deny' },
        ],
        expires_in: 600,
      },
      answers: {
        202: {
          status: 'pending',
          ask_id: 'ask_2f',
          approval_url: 'https://app.example.com/approvals/ask_2f',
          poll_url: '/api/v1/agents/ask/poll/ask_2f',
          poll_interval_seconds: 2,
        },
      },
    },
  },
  pollAsk: {
    method: 'GET',
    path: '/api/v1/agents/ask/poll/:askId',
    summary: 'Whether the person has answered, and what',
    description:
      "With `wait` it answers as soon as there is something to tell. What it tells but pending is final. 404 for another key's.",
    resource: 'asks',
    verb: 'poll',
    tag: 'agents',
    audience: 'key',
    limits: ['rest'],
    params: AskParam,
    query: Wait,
    responses: {
      200: Type.Object({
        status: Type.Enum(['pending', 'answered', 'denied', 'expired', 'withdrawn']),
        ...AskAnswer,
        deny_reason: Type.Optional(Type.String()),
      }),
    },
    errors: ['NOT_FOUND'],
    example: { answers: { 200: { status: 'answered', choice: 'yes' } } },
  },
  withdrawAsk: {
    method: 'POST',
    path: '/api/v1/agents/ask/:askId/withdraw',
    summary: 'Take an ask back, as when the person has answered at the terminal',
    description: '409 when it was answered, denied or has expired already; again is as good as once.',
    resource: 'asks',
    verb: 'withdraw',
    tag: 'agents',
    audience: 'key',
    changes: ['approvals'],
    limits: ['rest'],
    params: AskParam,
    optionalBody: true,
    body: Type.Object({ because: Type.Optional(Type.String({ maxLength: 280 })) }),
    responses: { 200: Success },
    errors: ['INVALID_INPUT', 'NOT_FOUND', 'CONFLICT'],
    example: { body: { because: 'Answered at the terminal' } },
  },
})
