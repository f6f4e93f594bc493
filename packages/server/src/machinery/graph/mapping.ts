import { StepRefused } from './failure.ts'
import { anything, closedRecord, type Shape, shapeAt, shapeOfValue, text } from './flow.ts'
import { isNestedWithin, isRecord, type JsonRecord, joinPath, jsonBytes, own } from './json.ts'
import { definitionLimits } from './limits.ts'
import type { Reading } from './reading.ts'
import { type Found, findAt, isRequestContextKey, type Path, parsePath, type Scope } from './reference.ts'
import { parseTemplate, renderTemplate, type Template } from './template.ts'

type Source =
  | { readonly kind: 'value'; readonly value: unknown }
  | { readonly kind: 'template'; readonly template: Template }
  | { readonly kind: 'request'; readonly key: string }
  | { readonly kind: 'initData'; readonly path: Path }
  | { readonly kind: 'steps'; readonly stepIds: readonly string[]; readonly path: Path }

export type Mapping = ReadonlyMap<string, Source>

/** Makes the record; throws StepRefused. A leaf that is not there leaves its key out. */
export function applyMapping(mapping: Mapping, scope: Scope, maxBytes: number): JsonRecord {
  const made: [string, unknown][] = []
  let bytes = 0
  for (const [key, source] of mapping) {
    const found = readSource(source, scope, maxBytes)
    if (found.found) {
      made.push([key, found.value])
      // Counted as it grows: 200 keys can name one large value, and writing all of it down would take seconds.
      bytes += jsonBytes(found.value)
      if (bytes > maxBytes)
        throw new StepRefused('STEP_OUTPUT_TOO_LARGE', `The output is over ${maxBytes} bytes.`)
    } else if (!found.parent)
      throw new StepRefused(
        'MAPPING_PATH_INVALID',
        `"${key}": the path leads through a value that is not there.`,
      )
  }
  return Object.fromEntries(made)
}

function readSource(source: Source, scope: Scope, maxLength: number): Found {
  switch (source.kind) {
    case 'value':
      return { found: true, value: structuredClone(source.value) }
    case 'template':
      return { found: true, value: renderTemplate(source.template, scope, maxLength) }
    case 'request': {
      const value = scope.requestValue(source.key)
      return value === undefined ? { found: false, parent: true } : { found: true, value }
    }
    case 'initData':
      return findAt(scope.initData, source.path)
    case 'steps': {
      const outputs = source.stepIds.map((stepId) => scope.outputOf(stepId))
      return findAt(outputs.find((output) => output !== undefined && output !== null) ?? null, source.path)
    }
  }
}

/** Reads the text of a mapConfig; without a mapping when anything is wrong with it. */
export function readMapping(
  config: string,
  path: string,
  reading: Reading,
): { mapping?: Mapping; output?: Shape } {
  const refuse = (message: string) => {
    reading.add('invalid-map-config', path, message)
    return {}
  }
  const record = parseRecord(config)
  if (!record) return refuse('mapConfig must be the JSON text of a record.')
  const keys = Object.keys(record)
  if (keys.length > definitionLimits.mapKeys)
    return refuse(`A mapping has at most ${definitionLimits.mapKeys} keys.`)
  const mapping = new Map<string, Source>()
  const shapes = new Map<string, Shape>()
  let fine = true
  for (const key of keys) {
    if (key === '' || key === '__proto__' || key.length > definitionLimits.mapKeyLength) {
      refuse(`A key has 1 to ${definitionLimits.mapKeyLength} characters and is not __proto__.`)
      fine = false
      continue
    }
    const source = readSourceText(record[key], joinPath(path, key), reading)
    if (source) {
      mapping.set(key, source)
      shapes.set(key, shapeOfSource(source, reading))
    } else fine = false
  }
  return fine ? { mapping, output: closedRecord(shapes) } : {}
}

function parseRecord(config: string): JsonRecord | undefined {
  try {
    const parsed: unknown = JSON.parse(config)
    return isRecord(parsed) && isNestedWithin(parsed, definitionLimits.depth) ? parsed : undefined
  } catch {
    return undefined
  }
}

function readSourceText(raw: unknown, path: string, reading: Reading): Source | undefined {
  if (isRecord(raw)) {
    const form = Object.keys(raw).sort().join()
    const [value, template, request, from] = ['value', 'template', 'requestContextPath', 'path'].map((key) =>
      own(raw, key),
    )
    if (form === 'value') return { kind: 'value', value }
    if (form === 'template' && typeof template === 'string')
      return readTemplate(template, joinPath(path, 'template'), reading)
    if (form === 'requestContextPath' && typeof request === 'string')
      return readRequestKey(request, path, reading)
    if (form === 'initData,path' && raw['initData'] === true && typeof from === 'string') {
      const at = readPath(from, [reading.inputs], path, reading)
      return at && { kind: 'initData', path: at }
    }
    const stepIds = [raw['step']].flat()
    if (form === 'path,step' && typeof from === 'string' && areStepIds(stepIds))
      return readSteps(stepIds, from, path, reading)
  }
  reading.add(
    'invalid-map-source',
    path,
    'Each value is exactly one of {value}, {template}, {requestContextPath}, {initData: true, path}, {step, path}.',
  )
  return undefined
}

function areStepIds(values: unknown[]): values is string[] {
  const { length } = values
  return (
    length > 0 && length <= definitionLimits.mapSteps && values.every((value) => typeof value === 'string')
  )
}

function readTemplate(source: string, path: string, reading: Reading): Source | undefined {
  const tooLarge = Buffer.byteLength(source) > definitionLimits.templateBytes
  const template = tooLarge ? undefined : parseTemplate(source)
  if (!template) {
    const message = tooLarge
      ? `A template has at most ${definitionLimits.templateBytes} bytes.`
      : 'In the braces stands initData.…, inputData.…, state.…, stepResults.<step>.… or requestContext.<key>.'
    reading.add('invalid-template', path, message)
    return undefined
  }
  for (const part of template) {
    if (typeof part === 'string') continue
    if (part.root === 'requestContext' && !isRequestContextKey(part.key)) {
      reading.add('invalid-template', path, 'The request context has no such key.')
      return undefined
    }
    if (part.root === 'stepResults' && !reading.shapeOf(part.stepId)) {
      reading.add('unknown-step-reference', path, `No earlier step is called "${part.stepId.slice(0, 128)}".`)
      return undefined
    }
  }
  return { kind: 'template', template }
}

function readRequestKey(key: string, path: string, { add }: Reading): Source | undefined {
  if (isRequestContextKey(key)) return { kind: 'request', key }
  add('invalid-map-path', joinPath(path, 'requestContextPath'), 'The request context has no such key.')
  return undefined
}

function readSteps(
  stepIds: readonly string[],
  from: string,
  path: string,
  reading: Reading,
): Source | undefined {
  const unknown = stepIds.find((stepId) => !reading.shapeOf(stepId))
  if (unknown !== undefined) {
    reading.add(
      'unknown-step-reference',
      joinPath(path, 'step'),
      `No earlier step is called "${unknown.slice(0, 128)}".`,
    )
    return undefined
  }
  const shapes = stepIds.map((stepId) => reading.shapeOf(stepId) ?? anything)
  const at = readPath(from, shapes, path, reading)
  return at && { kind: 'steps', stepIds, path: at }
}

/** Reports a path that is none, or that none of the values it may start from can have. */
function readPath(from: string, starts: readonly Shape[], path: string, { add }: Reading): Path | undefined {
  const parsed = parsePath(from)
  if (parsed && starts.some((shape) => shapeAt(shape, parsed))) return parsed
  const message = parsed
    ? 'Nothing can ever be at this path.'
    : 'A path is names and indexes joined by dots, without brackets; "" is the whole value.'
  add('invalid-map-path', joinPath(path, 'path'), message)
  return undefined
}

function shapeOfSource(source: Source, reading: Reading): Shape {
  switch (source.kind) {
    case 'value':
      return shapeOfValue(source.value)
    case 'template':
      return text
    case 'request':
      // A text or null: whether it will do as a text is known only then.
      return anything
    case 'initData':
      return shapeAt(reading.inputs, source.path) ?? anything
    case 'steps': {
      const [stepId, ...others] = source.stepIds
      const start = stepId !== undefined && others.length === 0 ? reading.shapeOf(stepId) : undefined
      // A step that did not run gives null.
      if (!start || source.path.length === 0) return anything
      return shapeAt(start, source.path) ?? anything
    }
  }
}
