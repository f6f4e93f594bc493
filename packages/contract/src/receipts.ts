import { type Static, Type } from 'typebox'
import { defineRoutes } from './route.ts'
import { IdParam, Limit, Nullable, shownAs, Timestamp } from './shapes.ts'

const Sha256 = Type.String({ description: 'Hexadecimal' })

/** By which right something was started. */
export const ReceiptRight = Type.Object(
  {
    scope: Type.String({ description: 'The right as it was held; for a person or an app what was needed' }),
    via: Type.Enum(['key', 'full', 'grant', 'person', 'app'], {
      description:
        'key: a scope of the key; full: a key with full access; grant: for a time or a single use; person: in person; app: through OAuth',
    }),
    grantId: Type.Optional(Type.Integer()),
    oauthGrantId: Type.Optional(Type.Integer()),
    requestId: Type.Optional(Type.String({ description: 'The request that a person approved' })),
    approvedBy: Type.Optional(Type.String({ description: 'A user id' })),
    approvedAt: Type.Optional(Timestamp),
    passkey: Type.Optional(Type.String({ description: 'The passkey that confirmed it' })),
  },
  { title: 'ReceiptRight' },
)

const ReceiptApproval = Type.Object(
  {
    id: Type.String(),
    kind: Type.String(),
    decision: Type.Enum(['granted', 'denied']),
    by: Nullable(Type.String({ description: 'A user id' })),
    byKey: Nullable(Type.Integer({ description: 'The key it was said through' })),
    at: Timestamp,
    actionSha256: Type.String({ description: 'Of what was asked, as canonical JSON' }),
  },
  { title: 'ReceiptApproval' },
)

const What = Type.Union([
  Type.Object({
    kind: Type.Literal('execution'),
    skill: Type.Object({ slug: Type.String(), version: Type.Integer(), contentChecksum: Type.String() }),
    run: Nullable(Type.String({ description: 'The workflow run that a step of started it' })),
    models: Type.Array(Type.String()),
    toolCalls: Type.Array(
      Type.Object({ name: Type.String(), calls: Type.Integer(), errors: Type.Integer() }),
    ),
  }),
  Type.Object({
    kind: Type.Literal('run'),
    workflow: Type.Object({
      slug: Type.String(),
      definitionId: Type.String(),
      definitionChecksum: Type.String(),
    }),
    steps: Type.Array(Type.Object({ id: Type.String(), status: Type.String() })),
  }),
  Type.Object({
    kind: Type.Literal('trace'),
    receipts: Type.Array(Type.Object({ id: Type.String(), sha256: Type.String() }), {
      description: 'Those of all that ran on it, whose rights, costs and outputs are repeated here',
    }),
  }),
])

/**
 * What was done, by whom and by what right. It holds names, numbers and hashes, and nothing that was said. Signed as
 * canonical JSON (RFC 8785); fields may be added within `v: 1`.
 */
export const Receipt = Type.Object(
  {
    v: Type.Literal(1),
    id: Type.String(),
    issuer: Type.String(),
    subject: Type.String({
      description: 'The id of the execution, run or trace; a trace’s is followed by a part of its hash',
    }),
    traceId: Nullable(Type.String()),
    traceKey: Type.String(),
    previous: Type.Union([
      Type.Object({ id: Type.String(), sha256: Type.String() }, { description: 'Of the same traceKey' }),
      Type.Null(),
    ]),
    actor: Type.Object({
      userId: Type.String(),
      apiKeyId: Nullable(Type.Integer()),
      keyPrefix: Nullable(Type.String()),
      oauthGrantId: Nullable(Type.Integer()),
      agentSlug: Nullable(Type.String({ description: 'What it called itself; not proved' })),
    }),
    what: What,
    authority: Type.Array(ReceiptRight),
    approvals: Type.Array(ReceiptApproval),
    cost: Type.Object({ ds: Type.Number(), ledger: Type.Array(Type.Integer()) }),
    outputs: Type.Array(
      Type.Object({
        path: Type.String(),
        checksum: Nullable(Type.String({ description: 'SHA-256; null when the file was deleted before' })),
        sizeBytes: Type.Integer(),
        artifactId: Type.String(),
      }),
    ),
    started: Nullable(Timestamp),
    ended: Nullable(Timestamp),
    stopReason: Nullable(Type.String()),
    log: Type.Object(
      { events: Type.Integer(), sha256: Sha256 },
      {
        description:
          'Over a line for each event in order: number, blank, type, blank, payload as it is stored, line feed. For a run over its steps: id, blank, record; for a trace over its turns, payloads as canonical JSON',
      },
    ),
    redactions: Type.Integer({ description: 'Events whose payload had been erased by then' }),
  },
  { title: 'Receipt' },
)
export type Receipt = Static<typeof Receipt>

export const SignedReceipt = Type.Object(
  {
    receipt: shownAs(Type.Any(), Receipt),
    signature: Type.String({ description: 'Ed25519 over the receipt as canonical JSON; base64url' }),
    keyId: Type.String({ description: 'kid of the key among /.well-known/guildhall-receipt-keys' }),
    redactedSince: Type.Integer({
      description:
        'Not signed: how many events of its log were erased after it was made, so that log.sha256 fits no more',
    }),
  },
  { title: 'SignedReceipt' },
)
export type SignedReceipt = Static<typeof SignedReceipt>

const ReceiptItem = Type.Object(
  {
    id: Type.String(),
    subject: Type.String(),
    traceId: Nullable(Type.String()),
    keyId: Type.String(),
    at: Timestamp,
  },
  { title: 'ReceiptItem' },
)

const shared = {
  tag: 'receipts',
  audience: 'credential',
  limits: ['rest'],
  oauthScopes: ['trace:read'],
} as const

export const receiptRoutes = defineRoutes({
  listTraceReceipts: {
    method: 'GET',
    path: '/api/v1/traces/:id/receipts',
    summary: 'The receipts of a trace and of the workflow run that caused it, in their order',
    description:
      'One is made within a minute of the end of an execution or a run; read it with receipts/:id.',
    resource: 'receipts',
    verb: 'list',
    page: 'cursor',
    ...shared,
    tag: 'traces',
    params: IdParam,
    query: Type.Object({ limit: Limit(200), cursor: Type.Optional(Type.String({ maxLength: 300 })) }),
    responses: {
      200: Type.Object({ items: Type.Array(ReceiptItem), nextCursor: Nullable(Type.String()) }),
    },
    errors: ['INVALID_INPUT', 'NOT_FOUND'],
  },
  makeTraceReceipt: {
    changes: ['receipts'],
    method: 'POST',
    path: '/api/v1/traces/:id/receipts',
    summary: 'A signed receipt of a whole trace, what was appended to it included',
    description:
      'Of the trace as it is: asked again it is the same one until a turn is added. 409 while something runs on it.',
    resource: 'receipts',
    verb: 'make',
    ...shared,
    tag: 'traces',
    oauthScopes: ['trace:write'],
    answers: 'json',
    params: IdParam,
    responses: { 200: SignedReceipt },
    errors: ['NOT_FOUND', 'CONFLICT'],
  },
  getReceipt: {
    method: 'GET',
    path: '/api/v1/receipts/:id',
    summary: 'A signed receipt: what was done, and by what right',
    description:
      'Its id is receipt_ and the id of the execution or run. 404 until it is made, within a minute of the end. scripts/verify-receipt.ts checks it without this service.',
    resource: 'receipts',
    verb: 'get',
    ...shared,
    answers: 'json',
    params: IdParam,
    responses: { 200: SignedReceipt },
    errors: ['NOT_FOUND'],
  },
  getReceiptKeys: {
    method: 'GET',
    path: '/.well-known/guildhall-receipt-keys',
    summary: 'The public keys that receipts are verified with, as a JWK set',
    description: 'Keep a copy: with it receipts are verified offline. Keys stay listed after their rotation.',
    resource: 'receipts',
    verb: 'keys',
    tag: 'receipts',
    audience: 'public',
    limits: ['rest'],
    responses: {
      200: Type.Object({
        keys: Type.Array(
          Type.Object({
            kty: Type.Literal('OKP'),
            crv: Type.Literal('Ed25519'),
            x: Type.String(),
            kid: Type.String({ description: 'Its thumbprint (RFC 7638)' }),
            alg: Type.Literal('EdDSA'),
            use: Type.Literal('sig'),
          }),
        ),
      }),
    },
    errors: [],
    example: {
      answers: {
        200: {
          keys: [{ kty: 'OKP', crv: 'Ed25519', x: 'MTIz', kid: 'kPrK_qmx', alg: 'EdDSA', use: 'sig' }],
        },
      },
    },
  },
})
