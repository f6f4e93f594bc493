import { type Static, type TObject, type TProperties, type TSchema, type TUnsafe, Type } from 'typebox'

/** Pieces that many routes share. */
export function Nullable<S extends TSchema & { type: string }>(schema: S): TUnsafe<Static<S> | null> {
  // A list of types rather than a union: serialisers write it straight away instead of trying each branch.
  return Type.Unsafe<Static<S> | null>({ ...schema, type: [schema.type, 'null'] })
}

const shapes = new WeakMap<object, TSchema>()

/**
 * A schema that serves its purpose as it is, written out in the document as what it really holds: a serialiser that
 * has to tell a dozen events apart would be slower than one that writes what it is given.
 */
export function shownAs<S extends TSchema>(schema: S, shape: TSchema): S {
  shapes.set(schema, shape)
  return schema
}
export const shapeOf = (schema: object): TSchema | undefined => shapes.get(schema)

// By title: a copy of the record, as an optional field has it, is still that record.
const bases = new Map<string, TObject>()

/** A record with all that another one has, and more. It is whole, and printed as what it adds. */
export function Extended<B extends TProperties, P extends TProperties>(
  base: TObject<B>,
  title: string,
  more: P,
): TObject<B & P> {
  const schema = Type.Object({ ...base.properties, ...more }, { title }) as unknown as TObject<B & P>
  bases.set(title, base)
  return schema
}
export const baseOf = (title: string): TObject | undefined => bases.get(title)

/** An object of somebody else's making. Not a record of texts: its pattern lets no name with a line break through. */
export const AnyFields = Type.Unsafe<Record<string, unknown>>({ type: 'object', additionalProperties: true })
export const Timestamp = Type.String({ format: 'date-time' })
export const Uuid = Type.String({ format: 'uuid' })
/** A number of a row that comes from outside: beyond this no number is exact, and no row can have it. */
export const RowNumber = Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER })
export const Success = Type.Object({ success: Type.Literal(true) }, { title: 'Success' })
export type Success = Static<typeof Success>
/** The plain acknowledgement. */
export const succeeded = { success: true } as const
export const Mode = Type.Enum(['byokmode', 'paygmode', 'basedmode'], {
  title: 'AccountMode',
  description: 'Subscription mode of the account',
})
export const KeyAccess = Type.Enum(['full', 'declared'], {
  title: 'KeyAccess',
  description:
    'full: active at once and carries every scope; declared: unactivated until a consent is approved',
})
export const WorkspaceRef = Type.Object(
  { id: Uuid, name: Nullable(Type.String()) },
  { title: 'WorkspaceRef' },
)
export type WorkspaceRef = Static<typeof WorkspaceRef>
/** Path parameters arrive as text; a numeric id that is none of ours must read like a missing one. */
export const IdParam = Type.Object({ id: Type.String() })

/**
 * What is called by a name is told apart by it, among other names and beside other words: nothing that is not seen, turns
 * the direction or begins a line, and something that is seen: fillers are letters too, and the empty Braille pattern is a
 * sign. The two joiners stay, without which some scripts and signs cannot be written.
 */
export const namePattern =
  /^(?=.*(?![\u115f\u1160\u2800\u3164\uffa0\u{1d159}])[\p{L}\p{N}\p{P}\p{S}])(?:[^\p{Cc}\p{Cf}\p{Zl}\p{Zp}]|[\u200c\u200d])*$/u

export const Name = (maxLength: number) =>
  Type.String({ minLength: 1, maxLength, pattern: namePattern.source })

/** A code without any symbol is malformed; a wrong one is a miss. */
export const UserCode = Type.String({
  title: 'UserCode',
  maxLength: 64,
  // Blanks and hyphens alone are no code; any other text is one that may be wrong.
  pattern: '[^\\s-]',
  description: 'XXXX-XXXX; read without regard to case, blanks and hyphens',
})

/** What an address says in numbers, and is refused for nothing but being none: of others the nearest whole one is taken. */
export interface Clamped {
  readonly 'x-clamped': { readonly minimum: number; readonly maximum: number }
}

function clamped(minimum: number, maximum: number, description: string) {
  return Type.Optional(Type.Number({ 'x-clamped': { minimum, maximum }, description }))
}

/** How many items one answer holds. */
export function Limit(maximum: number) {
  return clamped(1, maximum, `1 to ${maximum}; what lies outside is read as the nearest`)
}

/** How many items are passed over. */
export function Offset(description = 'Items to pass over') {
  return clamped(0, Number.MAX_SAFE_INTEGER, description)
}

/** The answer of the person's passkey, as the browser gives it. */
export const DeviceAuth = Type.Object(
  { id: Type.String({ maxLength: 2000 }) },
  {
    title: 'DeviceAuth',
    additionalProperties: true,
    description: 'A passkey assertion (PublicKeyCredential as JSON)',
  },
)
export type DeviceAuth = Static<typeof DeviceAuth>
