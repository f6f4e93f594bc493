import { ApiError } from './errors.ts'
import { type JsonMeter, refuseUnwanted } from './json-values.ts'

const byteOrderMark = '\ufeff'

/** What the bytes of a body say; `meter` has seen all of them. */
export function readJson(bytes: Buffer, meter: JsonMeter): unknown {
  const text = bytes.toString()
  if (text === '') return undefined
  let parsed: unknown
  try {
    parsed = JSON.parse(text.startsWith(byteOrderMark) ? text.slice(1) : text)
  } catch (cause) {
    throw new ApiError('INVALID_INPUT', { cause })
  }
  refuseUnwanted(text, meter, parsed)
  return parsed
}
