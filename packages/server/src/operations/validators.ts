import { Ajv } from 'ajv'
import { isUuid } from '#platform/ids.ts'
import { readMoment } from '#platform/moment.ts'

/** Nothing in a body is coerced or filled in. */
export const bodyValidator = withFormats(new Ajv({ allErrors: false, strict: false }))

/** What had to travel as text in an address may be read as a number or a boolean. */
export const addressValidator = withFormats(new Ajv({ allErrors: false, strict: false, coerceTypes: true }))

/** Formats mean what the rest of the service can work with: `urn:uuid:…` and the year 0 are well-formed elsewhere. */
function withFormats(ajv: Ajv): Ajv {
  return ajv
    .addFormat('uuid', isUuid)
    .addFormat('date-time', (text) => text.length > 10 && readMoment(text) !== undefined)
}
