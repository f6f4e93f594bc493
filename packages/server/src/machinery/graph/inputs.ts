import { isNestedWithin, isRecord, type JsonRecord, jsonBytes, own } from './json.ts'
import { inputLimits } from './limits.ts'
import { type ValueIssue, validateValue } from './schema-value.ts'

/** What is wrong with the inputs of a launch; nothing when the list is empty. */
export function checkInputs(inputSchema: JsonRecord, inputs: unknown): ValueIssue[] {
  const whole = (keyword: string, message: string): ValueIssue[] => [{ path: '', keyword, message }]
  if (!isRecord(inputs)) return whole('type', 'must be a record')
  if (!isNestedWithin(inputs, inputLimits.depth))
    return whole('depth', `must not nest over ${inputLimits.depth} deep`)
  if (jsonBytes(inputs) > inputLimits.bytes)
    return whole('size', `must have at most ${inputLimits.bytes} bytes`)
  return validateValue(inputSchema, inputs)
}

/**
 * What a tool gets of the value that came to it. A closed schema drops what it does not declare, so that one mapping
 * can feed several tools; an open one keeps everything.
 */
export function prepareToolInput(
  inputSchema: JsonRecord,
  input: unknown,
): { readonly input: unknown; readonly issues: ValueIssue[] } {
  const properties = own(inputSchema, 'properties')
  const isClosed = own(inputSchema, 'additionalProperties') === false && isRecord(properties)
  const fitting =
    isClosed && isRecord(input)
      ? Object.fromEntries(Object.entries(input).filter(([key]) => Object.hasOwn(properties, key)))
      : input
  return { input: fitting, issues: validateValue(inputSchema, fitting) }
}
