// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the language's own markers
import { isObject } from '../protocol.ts'
import { type Definition, mapping, template, tool, value } from './draft.ts'
import { firstKey, type Read } from './guide.ts'
import { changeAt, changeTexts } from './places.ts'

export interface Issue {
  readonly path: string
  readonly message: string
  readonly hint: string
}

type Entry = Record<string, unknown>

interface Place {
  /** May be changed. */
  readonly definition: Definition
  readonly path: readonly string[]
  readonly message: string
  readonly guide: Read
}

/** Does what the hint of each issue says; gives those whose hint says nothing that can be done. */
export function mend(
  wrong: Definition,
  issues: readonly Issue[],
  guide: Read,
): { definition: Definition; left: Issue[] } {
  const definition = structuredClone(wrong)
  const left: Issue[] = []
  // From the end on: what is put in before an entry moves only those behind it.
  for (const issue of issues.toReversed()) {
    const { path, message, hint } = issue
    const known = ways.find(([words]) => hint.includes(words))
    if (known) known[1]({ definition, path: path.split('.'), message, guide })
    else left.push(issue)
  }
  return { definition, left }
}

/** What a hint says, and how that is done. A hint that no longer says it helps nobody. */
const ways: readonly (readonly [words: string, way: (place: Place) => void])[] = [
  ['Remove args and put a mapping before the tool', argsToMapping],
  ['toolId; the guide lists them', nearestTool],
  ['agentId; GET /agents lists them, and so does the guide', firstAgent],
  ['Write a value of the type that the message names', ofNamedType],
  ['without blanks or brackets inside', (place) => rewriteText(place, plainMarkers)],
  ['Move the mapping out of the container, to the entry before it', mappingOut],
  ['Write the path without ${}', (place) => rewriteText(place, withoutMarker)],
  ['Write one predicate for each step', otherwise],
  ['lower-case words and digits joined by hyphens', (place) => rewriteText(place, kebab)],
  ['without dots or spaces', (place) => rename(place, kebab)],
  ['Give this step another id', (place) => rename(place, (id) => `${id}-again`)],
  ['Remove this field', (place) => changeAt(place.definition, place.path, (entry, key) => delete entry[key])],
  ['containers have no id, so name their children', nameChild],
  ['Write milliseconds as a number', (place) => rewriteText(place, Number.parseFloat)],
  ['Write a date such as "2030-01-31T08:00:00Z"', (place) => rewriteText(place, isoDate)],
  ['Put a mapping before the entry that gives the missing keys', feed],
  ['Add the field that the path ends with; {} is the schema', (place) => rewrite(place, () => ({}))],
  ['Use one of the nine types that the message lists', nearestType],
  ['"dowhile" (go on as long as it holds) or "dountil" (go on until it holds)', loopType],
  ['Write a whole number from 0 to 10', (place) => rewrite(place, () => 10)],
  ['Write names joined by dots, without brackets or $', (place) => rewriteText(place, dotted)],
  ['Write exactly one of {"value":…}', oneSource],
]

function rewrite({ definition, path }: Place, change: (old: unknown) => unknown): void {
  changeAt(definition, path, (entry, key) => {
    entry[key] = change(entry[key])
  })
}

function rewriteText(place: Place, change: (old: string) => unknown): void {
  rewrite(place, (old) => change(String(old)))
}

const kebab = (text: string) => text.trim().toLowerCase().split(' ').join('-')
const dotted = (path: string) => path.replace('$.', '').replaceAll('[', '.').replaceAll(']', '')
const withoutMarker = (path: string) => path.replace('${', '').replace('}', '')
const plainMarkers = (text: string) =>
  text.replace(/\$\{([^}]*)\}/g, (_, body: string) => `\${${dotted(body.trim())}}`)
/** A date without a zone is meant for everybody alike. */
const isoDate = (text: string) => new Date(`${text} UTC`).toISOString()

/** What is a record and must be a text is written as JSON. */
function ofNamedType(place: Place): void {
  if (place.message.includes('text')) rewrite(place, (given) => JSON.stringify(given))
}

function graphOf({ definition }: Place): Entry[] {
  return definition['graph'] as Entry[]
}

/** Where in the graph the issue is. */
function indexOf({ path }: Place): number {
  return Number(path[1])
}

function argsToMapping(place: Place): void {
  const graph = graphOf(place)
  const at = indexOf(place)
  const { args, ...step } = graph[at] ?? {}
  const sources = Object.entries(args as object).map(([key, given]) => [
    key,
    typeof given === 'string' && given.includes('${') ? template(given) : value(given),
  ])
  graph.splice(at, 1, mapping(`${step['id']}-input`, Object.fromEntries(sources)), step)
}

/** The tool of the guide whose name has most of the words. */
function nearestTool(place: Place): void {
  const [first, ...others] = place.guide.tools.map(({ id }) => id)
  rewriteText(place, (wrong) => {
    const words = wrong.split('-')
    const shared = (id: string) => id.split('-').filter((word) => words.includes(word)).length
    return others.reduce((best, id) => (shared(id) > shared(best) ? id : best), first ?? wrong)
  })
}

function firstAgent(place: Place): void {
  rewrite(place, () => place.guide.agents[0])
}

function mappingOut(place: Place): void {
  const graph = graphOf(place)
  const at = indexOf(place)
  const steps = graph[at]?.['steps'] as Entry[]
  graph.splice(at, 0, ...steps.splice(Number(place.path[3]), 1))
}

/** Who forgot one meant: whenever none of the others holds. */
function otherwise({ definition, path }: Place): void {
  changeAt(definition, path, (entry) => {
    const predicates = entry['predicates'] as object[]
    const [only, ...more] = predicates
    const any = more.length === 0 ? only : { op: 'or', args: [...predicates] }
    while (predicates.length < (entry['steps'] as object[]).length)
      predicates.push({ op: 'not', arg: any ?? {} })
  })
}

/** With all that is said of it later on. */
function rename(place: Place, change: (id: string) => string): void {
  const { definition, path } = place
  let old = ''
  let fresh = ''
  changeAt(definition, path, (entry, key) => {
    old = String(entry[key])
    fresh = change(old)
    entry[key] = fresh
  })
  const graph = graphOf(place)
  const later = graph.splice(indexOf(place) + 1)
  const said = changeTexts(later, (text) =>
    text
      .replaceAll(`stepResults.${old}.`, `stepResults.${fresh}.`)
      .replaceAll(`"step":"${old}"`, `"step":"${fresh}"`),
  )
  graph.push(...(said as Entry[]))
}

/** What was said of a container goes on with the name of a child: that is who is meant. */
function nameChild(place: Place): void {
  const [, unknown] = place.message.split('"')
  const children = graphOf(place).flatMap(({ steps }) => (Array.isArray(steps) ? (steps as Entry[]) : []))
  rewriteText(place, (text) =>
    children.reduce((said, { id }) => said.replaceAll(`${unknown}.${id}.`, `${id}.`), text),
  )
}

/** A loop over a list is fed by an expression, an agent by a prompt. */
function feed(place: Place): void {
  const graph = graphOf(place)
  const at = indexOf(place)
  const entry = graph[at]
  const before = graph[at - 1]
  if (!entry) return
  if (entry['type'] === 'foreach' && typeof before?.['mapConfig'] === 'string') {
    const key = firstKey(place.guide, String((entry['step'] as Entry)['toolId']))
    const [source] = Object.values(JSON.parse(before['mapConfig']) as object)
    const expression = value(`[$.{"${key}": $}]`)
    graph.splice(
      at - 1,
      1,
      mapping(String(before['id']), { expression, data: source }),
      tool('items', 'transform-json'),
    )
    return
  }
  const wish = String(place.definition['description'])
  graph.splice(at, 0, mapping(`${entry['id']}-prompt`, { prompt: template(`${wish}: \${inputData}`) }))
}

const otherNames: Readonly<Record<string, string>> = { map: 'mapping', if: 'conditional' }

function nearestType(place: Place): void {
  rewriteText(place, (wrong) => {
    const meant = otherNames[wrong]
    return meant !== undefined && place.message.includes(meant) ? meant : wrong
  })
}

function loopType(place: Place): void {
  rewriteText(place, (wrong) => (wrong.includes('until') ? 'dountil' : 'dowhile'))
}

function oneSource(place: Place): void {
  rewrite(place, (source) => {
    if (!isObject(source)) return source
    const { step, path } = source
    return step === undefined ? source : { step, path }
  })
}
