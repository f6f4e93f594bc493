import { entryTypes } from './entries/entries.ts'
import { anything, lackingKeys, type Shape, shapeOfSchema } from './flow.ts'
import { interpolate } from './interpolate.ts'
import { type AddIssue, collectIssues, type IssueReport } from './issues.ts'
import { isNestedWithin, isRecord, type JsonRecord, joinPath, jsonBytes, own } from './json.ts'
import { definitionLimits, schemaLimits } from './limits.ts'
import { checkFields, createReading, type EntryType, type ReadEntry, type References } from './reading.ts'
import { checkSchema } from './schema.ts'
import { type Entry, type Step, single } from './step.ts'

/** A definition that can run. */
export interface Workflow {
  readonly id: string
  readonly inputSchema: JsonRecord
  readonly outputSchema: JsonRecord
  /** What `state` holds in every run. */
  readonly state: JsonRecord
  readonly entries: readonly Entry[]
}

export interface CompileOptions {
  readonly workspaceId: string
  /** Left out for a definition that was checked when it was installed: what is gone since then fails its step. */
  readonly references?: References
}

export type Compilation =
  | { readonly workflow: Workflow; readonly report?: undefined }
  | { readonly report: IssueReport; readonly workflow?: undefined }

/**
 * Reads a definition, as text or parsed, and makes it ready to run, or tells everything that is wrong with it. Sizes
 * are looked at first, so that the work is bounded whatever is sent.
 */
export function compileDefinition(source: unknown, options: CompileOptions): Compilation {
  const issues = collectIssues()
  const definition = parseDefinition(source, issues.add)
  const workflow = definition && readDefinition(definition, options, issues.add)
  return workflow && issues.count() === 0 ? { workflow } : { report: issues.report() }
}

/** A step as it runs, which tool it calls and for whom: a second reading of the text could be of another mind. */
export function stepOf({ entries }: Workflow, stepId: string): Step | undefined {
  return entries.flatMap(({ steps }) => steps).find((step) => step.stepId === stepId)
}

/** Everything that a run of it may call. */
export function usesOf({ entries }: Workflow): { toolIds: string[]; agentSlugs: string[] } {
  const steps = entries.flatMap((entry) => entry.steps)
  return {
    toolIds: steps.flatMap(({ toolId }) => toolId ?? []),
    agentSlugs: steps.flatMap(({ agentSlug }) => agentSlug ?? []),
  }
}

function parseDefinition(source: unknown, add: AddIssue): JsonRecord | undefined {
  const tooLarge = () =>
    add(
      'definition-too-large',
      '',
      `A definition has at most ${definitionLimits.bytes} bytes and nests at most ${definitionLimits.depth} deep.`,
    )
  if (typeof source === 'string' && Buffer.byteLength(source) > definitionLimits.bytes) return tooLarge()
  let parsed = source
  if (typeof source === 'string') {
    try {
      parsed = JSON.parse(source)
    } catch {
      return add('not-json', '', 'The definition is not JSON.')
    }
  }
  if (!isRecord(parsed)) return add('not-an-object', '', 'A definition is a record.')
  if (!isNestedWithin(parsed, definitionLimits.depth)) return tooLarge()
  if (typeof source !== 'string' && jsonBytes(parsed) > definitionLimits.bytes) return tooLarge()
  return parsed
}

function readDefinition(
  definition: JsonRecord,
  options: CompileOptions,
  add: AddIssue,
): Workflow | undefined {
  const graph = own(definition, 'graph')
  if (graph !== undefined && !Array.isArray(graph)) return add('wrong-type', 'graph', 'graph must be a list.')
  checkFields(
    definition,
    '',
    {
      id: 'text',
      graph: 'any',
      inputSchema: 'any',
      outputSchema: 'any',
      description: 'text?',
      metadata: 'record?',
      stateSchema: 'any?',
    },
    add,
  )
  const id = own(definition, 'id')
  if (typeof id === 'string' && !isWorkflowId(id))
    add(
      'invalid-workflow-id',
      'id',
      `id has up to ${definitionLimits.workflowIdLength} lower-case letters and digits, in words joined by hyphens.`,
    )
  const patterns = { instructionsLeft: schemaLimits.patternProgramsTotal }
  const [inputSchema, outputSchema, stateSchema] = ['inputSchema', 'outputSchema', 'stateSchema'].map(
    (key) => {
      const schema = own(definition, key)
      return schema !== undefined && checkSchema(schema, key, add, patterns) && isRecord(schema)
        ? schema
        : undefined
    },
  )
  const inputs = inputSchema ? shapeOfSchema(inputSchema) : anything
  const { workspaceId, references } = options
  const reading = createReading({ add, workspaceId, references, inputs, patterns }, typeOf)
  const read =
    graph && isSizedRight(graph, add) ? readGraph(interpolate(graph, workspaceId), reading) : undefined
  if (outputSchema && read) {
    const lacking = lackingKeys(read.output, outputSchema)
    if (lacking.length > 0)
      add(
        'incompatible-schema',
        'outputSchema',
        `The last entry never gives ${lacking.slice(0, 5).join(', ')}, which outputSchema requires.`,
      )
  }
  if (typeof id !== 'string' || !inputSchema || !outputSchema || !read) return undefined
  return { id, inputSchema, outputSchema, state: defaultsOf(stateSchema), entries: read.entries }
}

function isWorkflowId(text: string): boolean {
  return text.length <= definitionLimits.workflowIdLength && /^[a-z0-9]+(-[a-z0-9]+)*$/.test(text)
}

function isSizedRight(graph: readonly unknown[], add: AddIssue): boolean {
  const { entries, steps } = definitionLimits
  if (graph.length === 0) add('empty-graph', 'graph', 'A graph has at least one entry.')
  const stepsOf = (entry: unknown) => {
    const children = isRecord(entry) ? own(entry, 'steps') : undefined
    return Array.isArray(children) ? children.length : 1
  }
  const isTooLarge =
    graph.length > entries || graph.reduce((sum: number, entry) => sum + stepsOf(entry), 0) > steps
  if (isTooLarge)
    add('graph-too-large', 'graph', `A graph has at most ${entries} entries and ${steps} steps.`)
  return graph.length > 0 && !isTooLarge
}

function typeOf(raw: JsonRecord, path: string, add: AddIssue): EntryType | undefined {
  const name = own(raw, 'type')
  if (name === undefined) return add('missing-field', joinPath(path, 'type'), 'type is missing.')
  if (typeof name === 'string' && Object.hasOwn(entryTypes, name)) return entryTypes[name]
  add('unknown-entry-type', joinPath(path, 'type'), `type is one of ${Object.keys(entryTypes).join(', ')}.`)
}

function readGraph(
  graph: unknown,
  reading: ReturnType<typeof createReading>,
): { entries: Entry[]; output: Shape } {
  const entries: Entry[] = []
  let output = reading.inputs
  for (const [index, raw] of Array.isArray(graph) ? graph.entries() : []) {
    const read = readEntry(raw, index, reading, output)
    if (read.entry) entries.push(read.entry)
    output = read.output
    reading.reveal()
  }
  return { entries, output }
}

function readEntry(
  raw: unknown,
  index: number,
  reading: ReturnType<typeof createReading>,
  input: Shape,
): ReadEntry {
  const place = { path: joinPath('graph', index), position: [index] }
  if (!isRecord(raw)) {
    reading.add('wrong-type', place.path, 'An entry is a record.')
    return { output: anything }
  }
  const type = typeOf(raw, place.path, reading.add)
  if (!type) {
    reading.rememberName(raw)
    return { output: anything }
  }
  if (type.kind === 'container') return type.read(raw, place, reading, input)
  const { step, output } = type.read(raw, place, reading, input)
  return { output, ...(step && { entry: single(step) }) }
}

/** The defaults of the properties of the state; nothing else can give it a value. */
function defaultsOf(stateSchema: JsonRecord | undefined): JsonRecord {
  const properties = stateSchema && own(stateSchema, 'properties')
  const state = Object.entries(isRecord(properties) ? properties : {}).flatMap(([key, property]) =>
    isRecord(property) && Object.hasOwn(property, 'default') ? [[key, property['default']]] : [],
  )
  return Object.fromEntries(state)
}
