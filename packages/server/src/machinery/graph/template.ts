import { StepRefused } from './failure.ts'
import { parseReference, type Reference, resolveReference, type Scope } from './reference.ts'

export type Template = readonly (string | Reference)[]

/**
 * One pass from left to right: `${` up to the first `}` is a reference, an unclosed `${` is text. Undefined is
 * returned when a reference is none. There is no escape.
 */
export function parseTemplate(text: string): Template | undefined {
  const parts: (string | Reference)[] = []
  let at = 0
  for (let open = text.indexOf('${'); open >= 0; open = text.indexOf('${', at)) {
    const close = text.indexOf('}', open)
    if (close < 0) break
    const body = text.slice(open + 2, close)
    const reference = body === body.trim() ? parseReference(body) : undefined
    if (!reference) return undefined
    if (open > at) parts.push(text.slice(at, open))
    parts.push(reference)
    at = close + 1
  }
  if (at < text.length) parts.push(text.slice(at))
  return parts
}

/** What is put in is never looked through for references again, so data cannot bring any. */
export function renderTemplate(template: Template, scope: Scope, maxLength: number): string {
  let text = ''
  for (const part of template) {
    text += typeof part === 'string' ? part : render(part, scope)
    // Checked as it grows: a short template can repeat a large value thousands of times.
    if (text.length > maxLength)
      throw new StepRefused('STEP_OUTPUT_TOO_LARGE', `A template grew over ${maxLength} characters.`)
  }
  return text
}

function render(reference: Reference, scope: Scope): string {
  const found = resolveReference(reference, scope)
  if (!found && reference.root === 'stepResults')
    throw new StepRefused('STEP_RESULT_MISSING', `Step "${reference.stepId}" has no result to insert.`)
  if (!found?.found) {
    if (found?.parent) return ''
    throw new StepRefused('MAPPING_PATH_INVALID', `Nothing can be read at ${describe(reference)}.`)
  }
  const { value } = found
  if (value === null || value === undefined) return ''
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

function describe(reference: Reference): string {
  if (reference.root === 'requestContext') return `requestContext.${reference.key}`
  const start = reference.root === 'stepResults' ? [reference.root, reference.stepId] : [reference.root]
  return [...start, ...reference.path].join('.').slice(0, 200)
}
