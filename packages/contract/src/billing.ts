import { type Static, Type } from 'typebox'
import { defineRoutes } from './route.ts'
import { Limit, Mode, Nullable, Timestamp } from './shapes.ts'

const milliPerDs = 1000

/** Amounts are whole thousandths of a Ds inside, numbers of Ds outside. */
export function toDs(milliDs: number): number
export function toDs(milliDs: number | null): number | null
export function toDs(milliDs: number | null): number | null {
  return milliDs === null ? null : milliDs / milliPerDs
}

/** To the nearest thousandth: 0.29 Ds times a thousand is a little less than 290. */
export function fromDs(ds: number): number
export function fromDs(ds: number | null): number | null
export function fromDs(ds: number | null): number | null {
  return ds === null ? null : Math.round(ds * milliPerDs)
}

/** What a person must have available for anything to start. */
export const minimumCreditsDs = 50

const Amount = Type.Number({ description: 'In Ds' })

export const Billing = Type.Object(
  {
    mode: Mode,
    unit: Type.Literal('Ds'),
    balance: Type.Number({ description: 'All credits, those set aside for running executions included' }),
    availableBalance: Type.Number({ description: 'What can still be set aside' }),
    reserved: Type.Number({ description: 'Set aside for running executions' }),
    minimumRequired: Type.Number({ description: 'What must be available for anything to start' }),
    spend: Type.Object({
      total: Type.Number({ description: 'What was charged, less refunds' }),
      key: Type.Union(
        [Type.Object({ total: Amount, reserved: Amount, limit: Nullable(Amount) }), Type.Null()],
        { description: 'Of the key that asks; null for other credentials' },
      ),
    }),
    limits: Type.Object({ maxCost: Type.Number({ description: 'The most that one execution sets aside' }) }),
  },
  { title: 'Billing' },
)
export type Billing = Static<typeof Billing>

const Place = Type.Enum(['issued', 'available', 'reserved', 'spent'], {
  description: 'The sides of an account; issued is outside of it, where credits come from',
})

export const LedgerEntry = Type.Object(
  {
    id: Type.String(),
    kind: Type.Enum(['grant', 'reserve', 'settle', 'release', 'refund', 'adjust']),
    from: Place,
    to: Place,
    amount: Type.Number({ description: 'What moved from the one to the other, in Ds' }),
    at: Timestamp,
    workspaceId: Nullable(
      Type.String({ description: 'With what follows: null outside the workspace of a key' }),
    ),
    executionId: Nullable(Type.String()),
    apiKeyId: Nullable(Type.Number()),
    note: Nullable(Type.String()),
  },
  { title: 'LedgerEntry' },
)
export type LedgerEntry = Static<typeof LedgerEntry>

export const billingRoutes = defineRoutes({
  getBilling: {
    method: 'GET',
    path: '/api/v1/billing',
    summary: "The person's credits: what is there, what is set aside, what was spent",
    description: 'A start needs minimumRequired available; 402 tells the same numbers.',
    resource: 'billing',
    verb: 'get',
    tag: 'billing',
    audience: 'credential',
    scopes: ['billing:read'],
    limits: ['rest'],
    responses: { 200: Billing },
    errors: [],
  },
  listLedger: {
    method: 'GET',
    path: '/api/v1/billing/ledger',
    summary: "Every movement of the person's credits, newest first; never changed afterwards",
    description: 'Follow nextCursor until it is null; a correction is an entry of its own.',
    resource: 'billing',
    verb: 'ledger',
    page: 'cursor',
    tag: 'billing',
    audience: 'credential',
    scopes: ['billing:read'],
    limits: ['rest'],
    query: Type.Object({
      limit: Limit(200),
      cursor: Type.Optional(Type.String({ maxLength: 300 })),
    }),
    responses: { 200: Type.Object({ items: Type.Array(LedgerEntry), nextCursor: Nullable(Type.String()) }) },
    errors: ['INVALID_INPUT'],
  },
})
