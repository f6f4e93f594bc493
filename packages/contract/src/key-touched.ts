import { type Static, Type } from 'typebox'
import { defineRoutes } from './route.ts'
import { IdParam, Nullable, Timestamp } from './shapes.ts'

/** How far back can be looked, and how far is looked when nothing is said. */
export const touchedDays = { most: 30, usual: 1 } as const
/** More of one kind are not told one by one, and not counted exactly beyond the second. */
export const touchedShown = 20
export const touchedCounted = 10_000

export const TouchedKind = Type.Enum(
  ['execution', 'workflow-run', 'chat', 'skill', 'workflow', 'agent', 'artifact', 'permission', 'trace'],
  {
    title: 'TouchedKind',
    description:
      'chat: a reply it asked an agent for; artifact: made or deleted; permission: what people allowed it; trace: one that it wrote into',
  },
)
export type TouchedKind = Static<typeof TouchedKind>

export const TouchedItem = Type.Object(
  {
    id: Type.String({ description: 'As the routes for this kind of thing have it: an id or a slug' }),
    title: Type.String({ description: 'In the words of whoever made it: text, and nothing else' }),
    at: Timestamp,
    undo: Type.Union([Type.Enum(['restore', 'cancel', 'undo']), Type.Null()], {
      description:
        'What a person can do about it now. restore: an earlier version is kept; cancel: it goes on and can be stopped; undo: it can be taken away again',
    }),
  },
  { title: 'TouchedItem' },
)
export type TouchedItem = Static<typeof TouchedItem>

export const KeyTouched = Type.Object(
  {
    key: Type.Object({ id: Type.Number(), label: Type.String(), revokedAt: Nullable(Timestamp) }),
    since: Timestamp,
    until: Timestamp,
    spend: Type.Number({ description: 'In Ds, charged in this time, less refunds' }),
    addresses: Type.Array(
      Type.Object({
        ip: Type.String({ description: 'An IPv4 address, or the /64 that an IPv6 address is of' }),
        firstAt: Timestamp,
        lastAt: Timestamp,
      }),
      { description: 'From where it was used in this time, the last one first, at most 100' },
    ),
    groups: Type.Array(
      Type.Object({
        kind: TouchedKind,
        count: Type.Number({ description: `At most ${touchedCounted} are counted` }),
        items: Type.Array(TouchedItem, { description: `The newest, at most ${touchedShown}` }),
      }),
      { description: 'Only kinds of which there is something' },
    ),
  },
  { title: 'KeyTouched' },
)
export type KeyTouched = Static<typeof KeyTouched>

/** What a key has left behind. */
export const keyTouchedRoutes = defineRoutes({
  getKeyTouched: {
    method: 'GET',
    path: '/api/v1/keys/:id/touched',
    summary: 'What a key did, from where and for how much; also after it was revoked',
    description:
      'Since a day ago, or since then; at most 30 days, and the answer says since when. 404 for a key that is not yours.',
    resource: 'keys',
    verb: 'touched',
    tag: 'keys',
    audience: 'session',
    limits: ['rest'],
    params: IdParam,
    query: Type.Object({ since: Type.Optional(Type.String({ maxLength: 40 })) }),
    responses: { 200: KeyTouched },
    errors: ['INVALID_INPUT', 'NOT_FOUND'],
  },
})
