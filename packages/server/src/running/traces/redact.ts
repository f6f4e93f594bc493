import { hash } from 'node:crypto'
import type { Pace } from '#platform/pace.ts'
import { Covered } from './covered.ts'
import { findEmail } from './known-email.ts'
import { KnownTexts } from './known-texts.ts'
import { findSecrets, insertSpan, mergeSpans, type RedactionKind, type Span } from './secret-shapes.ts'

export type { RedactionKind } from './secret-shapes.ts'

/** A turn as the contract describes it. */
export interface Turn {
  readonly seq: number
  readonly type: string
  readonly payload: unknown
  /** JSON of the payload, where it is at hand. */
  readonly text?: string
  readonly actorAgentSlug: string | null
  readonly at: string
  readonly origin: string
}

export function payloadText(turn: Turn): string {
  return turn.text ?? JSON.stringify(turn.payload)
}

/** What is taken out beside that which has the shape of a secret. */
export interface RedactionRules {
  /** Compared exactly, also as base64 and as part of an address. */
  readonly secrets: readonly string[]
  readonly emails: readonly string[]
  readonly facts: readonly string[]
  isMarked(seq: number): boolean
}

export const noRules: RedactionRules = { secrets: [], emails: [], facts: [], isMarked: () => false }

/** A fact of two or three letters would be found in half of all words. */
const leastFact = 4
const leastKnown = 6
const deepest = 64

/** Names under which a payload has nothing but what gives access. */
const secretNames =
  /^(?:(?:proxy-?)?authorization|(?:set-?)?cookie|x-(?:api-key|auth-token)|(?:client|aws)?[-_]?(?:secret|password|passwd|passphrase|private[-_]?key|secret[-_]?access[-_]?key|secret[-_]?key))$/i

export type Counts = Partial<Record<RedactionKind, number>>

/**
 * Takes out what must not leave with a trace. It is told turns in order and gives them back one behind, because a secret
 * may lie across two of them: whoever appends a stream cuts it anywhere. The turn of each path (`content[].text`) is
 * therefore also looked at together with the one before it. A turn may have thousands of texts: it gives way between them.
 */
export class Redactor {
  readonly counts: Counts = {}
  readonly #rules: RedactionRules
  readonly #pace: Pick<Pace, 'spend'>
  readonly #known: readonly Known[]
  readonly #knownTexts: KnownTexts
  readonly #emails: readonly string[]
  /** How far from an edge something known may begin or end that has blanks. */
  readonly #reach: number
  /** Characters of texts in which something known is, once for each of these. */
  #lookedAgain = 0
  #held: Examined | undefined

  constructor(rules: RedactionRules, pace: Pick<Pace, 'spend'>) {
    this.#rules = rules
    this.#pace = pace
    this.#known = [
      ...rules.secrets.flatMap(spellings).map((text) => ['known_secret', text] as const),
      ...rules.facts
        .filter((fact) => fact.length >= leastFact)
        .flatMap((fact) => [...new Set([fact, encodeURIComponent(fact.toWellFormed())])])
        .map((text) => ['profile', text] as const),
    ]
    this.#knownTexts = new KnownTexts(this.#known.map(([, text]) => text))
    this.#emails = rules.emails.map((email) => email.toLowerCase()).filter((email) => email.includes('@'))
    const lengths = [...this.#known.map(([, text]) => text), ...this.#emails].map(({ length }) => length)
    this.#reach = Math.min(longestReach, Math.max(0, ...lengths))
  }

  /** The turn that was told before this one, as it may be shown. */
  async push(turn: Turn): Promise<Turn | undefined> {
    const examined = await this.#examine(turn)
    const held = this.#held
    if (held) await this.#joinTurns(held, examined)
    this.#held = examined
    return held && this.#finish(held)
  }

  /** The last turn. */
  end(): Turn | undefined {
    const held = this.#held
    this.#held = undefined
    return held && this.#finish(held)
  }

  text(text: string): string {
    return this.#replace(text, this.#find(text))
  }

  async #examine(turn: Turn): Promise<Examined> {
    const examined: Examined = { turn, leaves: [], first: new Map(), last: new Map() }
    if (this.#rules.isMarked(turn.seq)) return { ...examined, marked: true }
    this.#walk(examined, turn.payload, '', 0, undefined)
    if (turn.actorAgentSlug !== null) addLeaf(examined, turn.actorAgentSlug, undefined, undefined)
    for (const leaf of examined.leaves) {
      await this.#look(examined, leaf)
      await this.#spend(leaf)
    }
    return examined
  }

  #walk(into: Examined, value: unknown, path: string, depth: number, whole: RedactionKind | undefined): void {
    if (typeof value === 'string') {
      addLeaf(into, value, path, whole)
    } else if (typeof value !== 'object' || value === null) {
      // Numbers and the like hold no secret.
    } else if (depth === deepest) {
      // `#rebuild` takes out as much.
      addLeaf(into, '', undefined, 'unscannable')
    } else if (Array.isArray(value)) {
      const within = shortened(`${path}[]`)
      for (const item of value) this.#walk(into, item, within, depth + 1, whole)
    } else {
      for (const [key, child] of Object.entries(value)) {
        addLeaf(into, key, undefined, undefined)
        const named = secretNames.test(key) ? kindOfName(key) : whole
        this.#walk(into, child, shortened(`${path}.${key}`), depth + 1, named)
      }
    }
  }

  async #look(into: Examined, leaf: Leaf): Promise<void> {
    const { text, path, whole } = leaf
    if (whole === 'unscannable') leaf.spans = [unscannable]
    else if (whole === undefined || text === '') leaf.spans = await this.#findInTurns(text)
    else leaf.spans = [{ start: 0, end: text.length, kind: whole }]
    if (path === undefined) return
    into.begins ??= leaf
    into.ends = leaf
    // Blocks of one turn are shown one behind the other.
    const before = into.last.get(path)
    if (before) this.#join(before, leaf)
    else into.first.set(path, leaf)
    into.last.set(path, leaf)
  }

  async #joinTurns(earlier: Examined, later: Examined): Promise<void> {
    for (const [path, leaf] of later.first) {
      const before = earlier.last.get(path)
      if (before) this.#join(before, leaf)
      await this.#spend(leaf)
    }
    if (earlier.ends && later.begins) this.#join(earlier.ends, later.begins)
  }

  #spend({ text }: Leaf): Promise<void> | undefined {
    const looked = this.#lookedAgain
    this.#lookedAgain = 0
    return this.#pace.spend(text.length + looked)
  }

  /** What is found only when both are read as one text. Nothing but their touching ends can be part of it. */
  #join(before: Leaf, behind: Leaf): void {
    // A block that was cut in its middle goes on for as long as it can.
    if (endsWithin(before, 'pem'))
      insertSpan(behind.spans, { start: 0, end: armourLength(behind.text), kind: 'pem' })
    const headEnds = Math.min(behind.text.length, Math.max(runForward(behind.text), this.#reach))
    const tailLeast = before.text.length - this.#reach
    const tailBegins = Math.max(0, Math.min(runBackward(before.text) - contextLength, tailLeast))
    const tailLength = before.text.length - tailBegins
    if (headEnds < leastHead || tailLength === 0 || headEnds + tailLength < leastJoint) return
    const joint = before.text.slice(tailBegins) + behind.text.slice(0, headEnds)
    for (const { start, end, kind } of this.#find(joint)) {
      if (start < tailLength)
        insertSpan(before.spans, {
          start: tailBegins + start,
          end: tailBegins + Math.min(end, tailLength),
          kind,
        })
      if (end > tailLength)
        insertSpan(behind.spans, { start: Math.max(0, start - tailLength), end: end - tailLength, kind })
    }
  }

  #find(text: string): Span[] {
    const search = this.#search(text)
    let step = search.next()
    for (; !step.done; step = search.next()) this.#lookedAgain += text.length
    return step.value
  }

  /** All that is known may be in one text of a megabyte. */
  async #findInTurns(text: string): Promise<Span[]> {
    const search = this.#search(text)
    let step = search.next()
    for (; !step.done; step = search.next()) await this.#pace.spend(text.length)
    return step.value
  }

  /** Stops before each time that the text is looked through again. */
  *#search(text: string): Generator<undefined, Span[]> {
    const known = yield* this.#searchKnown(text)
    const secrets = findSecrets(text)
    return known.length === 0 ? secrets : mergeSpans([...secrets, ...known])
  }

  *#searchKnown(text: string): Generator<undefined, Span[]> {
    const covered = new Map<RedactionKind, Covered>()
    for (const index of this.#knownTexts.candidatesIn(text)) {
      yield
      const [kind, known] = this.#known[index] as Known
      const ofKind = covered.get(kind) ?? new Covered(text.length)
      covered.set(kind, ofKind)
      for (let at = text.indexOf(known); at !== -1; at = text.indexOf(known, at + known.length))
        ofKind.add(at, at + known.length)
    }
    const spans: Span[] = []
    for (const [kind, ofKind] of covered) for (const span of ofKind.spans()) spans.push({ ...span, kind })
    for (const email of this.#emails) {
      yield
      for (const span of findEmail(text, email)) spans.push({ ...span, kind: 'email' })
    }
    return spans
  }

  #finish({ turn, leaves, marked }: Examined): Turn {
    const { seq, type, at, origin } = turn
    if (marked) {
      this.#count('marked')
      return { seq, type, payload: { redacted: label('marked') }, actorAgentSlug: null, at, origin }
    }
    if (leaves.every(({ spans }) => spans.length === 0)) return turn
    const rest = leaves.values()
    const payload = this.#rebuild(turn.payload, rest, 0)
    const actorAgentSlug = turn.actorAgentSlug === null ? null : this.#next(rest)
    return { seq, type, payload, actorAgentSlug, at, origin }
  }

  /** The same walk as before, so that the leaves come in the same order. */
  #rebuild(value: unknown, leaves: IteratorObject<Leaf>, depth: number): unknown {
    if (typeof value === 'string') return this.#next(leaves)
    if (typeof value !== 'object' || value === null) return value
    if (depth === deepest) return this.#next(leaves)
    if (Array.isArray(value)) return value.map((item) => this.#rebuild(item, leaves, depth + 1))
    const fields = new Map<string, unknown>()
    const taken = new Map<string, number>()
    for (const child of Object.values(value)) {
      const key = this.#next(leaves)
      fields.set(freeKey(fields, taken, key), this.#rebuild(child, leaves, depth + 1))
    }
    return Object.fromEntries(fields)
  }

  #next(leaves: IteratorObject<Leaf>): string {
    const { text, spans } = leaves.next().value as Leaf
    return this.#replace(text, spans)
  }

  #replace(text: string, spans: readonly Span[]): string {
    let replaced = ''
    let from = 0
    for (const { start, end, kind } of spans) {
      this.#count(kind)
      replaced += text.slice(from, start) + label(kind)
      from = end
    }
    return replaced + text.slice(from)
  }

  #count(kind: RedactionKind): void {
    this.counts[kind] = (this.counts[kind] ?? 0) + 1
  }
}

type Known = readonly [RedactionKind, string]

interface Leaf {
  readonly text: string
  /** Undefined for what no other text goes on from: names. */
  readonly path: string | undefined
  /** What it is taken for whatever it says. */
  readonly whole: RedactionKind | undefined
  spans: Span[]
}

interface Examined {
  readonly turn: Turn
  /** Every key and every text of the payload, in the order of the walk. */
  readonly leaves: Leaf[]
  /** The first and the last text of each path. */
  readonly first: Map<string, Leaf>
  readonly last: Map<string, Leaf>
  /** Of the whole payload. */
  begins?: Leaf
  ends?: Leaf
  readonly marked?: true
}

function addLeaf(
  into: Examined,
  text: string,
  path: string | undefined,
  whole: RedactionKind | undefined,
): void {
  into.leaves.push({ text, path, whole, spans: [] })
}

const longestPath = 128

/** Names may be long, and every text of an array would carry them. */
function shortened(path: string): string {
  return path.length > longestPath ? hash('sha256', path, 'base64') : path
}

const unscannable: Span = { start: 0, end: 0, kind: 'unscannable' }
/** What stands before a secret and says that it is one: `Authorization: Bearer `. */
const contextLength = 48
const longestRun = 8192
const longestReach = 512
const leastHead = 4
const leastJoint = 16

const label = (kind: RedactionKind): string => `[redacted: ${kind}]`

function kindOfName(name: string): RedactionKind {
  return /authorization|cookie|^x-/i.test(name) ? 'authorization' : 'credential'
}

function endsWithin({ text, spans }: Leaf, kind: RedactionKind): boolean {
  const last = spans.at(-1)
  return last?.kind === kind && last.end === text.length && !text.endsWith('-----')
}

function armourLength(text: string): number {
  return /^[A-Za-z0-9+/=\s]*/.exec(text)?.[0].length ?? 0
}

/** `taken`: how far names were counted, of which any number may become one. */
function freeKey(fields: ReadonlyMap<string, unknown>, taken: Map<string, number>, key: string): string {
  if (!fields.has(key)) return key
  let n = (taken.get(key) ?? 1) + 1
  while (fields.has(`${key} ${n}`)) n++
  taken.set(key, n)
  return `${key} ${n}`
}

function runForward(text: string): number {
  let end = 0
  while (end < text.length && end < longestRun && !isBlank(text.charCodeAt(end))) end++
  return end
}

function runBackward(text: string): number {
  let start = text.length
  while (start > 0 && text.length - start < longestRun && !isBlank(text.charCodeAt(start - 1))) start--
  return start
}

function isBlank(code: number): boolean {
  return code === 32 || (code >= 9 && code <= 13)
}

/** A secret as it is, in an address, and as base64 of a text that it is anywhere in. */
function spellings(secret: string): string[] {
  if (secret.length < leastKnown) return []
  const bytes = Buffer.from(secret)
  const found = new Set([
    secret,
    encodeURIComponent(secret.toWellFormed()),
    JSON.stringify(secret).slice(1, -1),
  ])
  for (const lead of [0, 1, 2]) {
    // Characters that also hold bits of what stands before or behind it are left out.
    const text = Buffer.concat([Buffer.alloc(lead), bytes])
      .toString('base64')
      .replaceAll('=', '')
    const whole = Math.floor(((lead + bytes.length) * 8) / 6)
    const inner = text.slice(Math.ceil((lead * 8) / 6), whole)
    found.add(inner).add(inner.replaceAll('+', '-').replaceAll('/', '_'))
  }
  return [...found]
}
