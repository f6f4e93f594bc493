import { type Static, type TSchema, type TUnsafe, Type } from 'typebox'

/** Pieces that many routes share. */
export function Nullable<S extends TSchema & { type: string }>(schema: S): TUnsafe<Static<S> | null> {
  // A list of types rather than a union: serialisers write it straight away instead of trying each branch.
  return Type.Unsafe<Static<S> | null>({ ...schema, type: [schema.type, 'null'] })
}
export const Timestamp = Type.String({ format: 'date-time' })
export const Uuid = Type.String({ format: 'uuid' })
/** A number of a row that comes from outside: beyond this no number is exact, and no row can have it. */
export const RowNumber = Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER })
export const Success = Type.Object({ success: Type.Literal(true) })
/** The plain acknowledgement. */
export const succeeded = { success: true } as const
export const Mode = Type.Enum(['byokmode', 'paygmode', 'basedmode'], {
  description: 'Subscription mode of the account',
})
export const KeyAccess = Type.Enum(['full', 'declared'], {
  description:
    'full: active at once and carries every scope; declared: unactivated until a consent is approved',
})
export const WorkspaceRef = Type.Object({ id: Uuid, name: Nullable(Type.String()) })
/** Path parameters arrive as text; a numeric id that is none of ours must read like a missing one. */
export const IdParam = Type.Object({ id: Type.String() })

/** The answer of the person's passkey, as the browser gives it. */
export const DeviceAuth = Type.Object(
  { id: Type.String({ maxLength: 2000 }) },
  { additionalProperties: true, description: 'A passkey assertion (PublicKeyCredential as JSON)' },
)
