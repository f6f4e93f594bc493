import { type ModelReply, objectReader } from '#machinery/models/models.ts'

export type Schema = Readonly<Record<string, unknown>>

/** Providers give objects only. Anything else is asked for inside of one. */
export function askedFor(schema: Schema): Schema {
  if (schema['type'] === 'object') return schema
  const { $defs, ...answer } = schema
  const wrapped = {
    type: 'object',
    properties: { answer },
    required: ['answer'],
    additionalProperties: false,
  }
  return $defs === undefined ? wrapped : { ...wrapped, $defs }
}

/** The value that the schema describes, or in words for the model why there is none. */
export function readValue(
  { object, objectProblem }: ModelReply,
  schema: Schema,
): { value: unknown } | { problem: string } {
  if (objectProblem !== undefined) return { problem: objectProblem }
  // A turn that asks for tools which were not offered is not read at all.
  if (object === undefined)
    return { problem: 'There is no object in the reply. Reply with the object alone.' }
  return { value: schema['type'] === 'object' ? object : (object as { answer: unknown }).answer }
}

/** The same for the text of a reply that was asked for such a value. */
export function valueIn(text: string, schema: Schema): { value: unknown } | { problem: string } {
  const read = objectReader(askedFor(schema))(text)
  if ('objectProblem' in read) return { problem: read.objectProblem }
  return { value: schema['type'] === 'object' ? read.object : (read.object as { answer: unknown }).answer }
}
