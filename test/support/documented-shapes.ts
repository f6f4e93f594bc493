import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import document from '../../docs/api/openapi.json' with { type: 'json' }

// Formats are not looked at: what they mean to the service stands in its own tests.
const ajv = new Ajv2020({ strict: false, validateFormats: false })
ajv.addSchema({ ...document, $id: 'openapi' })
const validators = new Map<string, ValidateFunction>()

/** A value has the shape that the OpenAPI document gives it. */
export function requireShape(schema: object, value: unknown, where: string): void {
  const isValid = validatorOf(schema)
  if (isValid(value)) return
  const shown = JSON.stringify(value)?.slice(0, 500)
  throw new Error(
    `openapi.json tells of another shape of ${where}: ${ajv.errorsText(isValid.errors)} in ${shown}`,
  )
}

/** A frame of a stream or a message of a socket is one of those that the document lists. */
export function requireDocumentedEvent(
  name: 'ExecutionStreamEvent' | 'RunStreamEvent' | 'ThreadStreamEvent' | 'LiveEvent',
  event: unknown,
): void {
  requireShape({ $ref: `#/components/schemas/${name}` }, event, name)
}

/** With its references as the whole document has them. */
function validatorOf(schema: object): ValidateFunction {
  const text = JSON.stringify(schema).replaceAll('"#/', '"openapi#/')
  const known = validators.get(text)
  if (known) return known
  const made = ajv.compile(JSON.parse(text))
  validators.set(text, made)
  return made
}
