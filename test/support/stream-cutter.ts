import { openProxy } from './cutting-proxy.ts'

/** Where a stream is cut: inside of a frame, behind one, in the head, or by an end of the body that is none. */
const places = ['within', 'between', 'head', 'closed'] as const
type Place = (typeof places)[number] | 'before the last'

interface Plan {
  readonly place: Place
  /** So many events come through whole, so that whoever resumes gets on. */
  readonly frames: number
  /** How far into the frame, or the head. */
  readonly share: number
}

interface Cutting {
  readonly cuts: number
  /** Told how many there were, this one too. With `true` the cut is left to it: nothing comes through any more. */
  readonly onCut?: (done: number) => boolean
}

const isStream = (asked: string) => /^GET \S+\/stream\?/m.test(asked)

/** A way to the server on which streams of executions are cut so many times, once right before their last event. */
export async function openStreamCutter(target: string, { cuts, onCut = () => false }: Cutting) {
  const done = new Map<Place, number>()
  const plans = new WeakMap<object, Plan>()
  const left = new WeakSet<object>()
  let count = 0
  const proxy = await openProxy(target, (piece, line, exchange) => {
    if (left.has(exchange)) return
    if (!isStream(exchange.asked)) return line.pass(piece)
    const plan = plans.get(exchange) ?? newPlan(count)
    plans.set(exchange, plan)
    const all = Buffer.concat([exchange.said, piece])
    const last = done.has('before the last') ? undefined : beginOfLast(all)
    const planned = count < cuts ? placeIn(all, plan) : undefined
    const at = Math.min(last ?? Number.POSITIVE_INFINITY, planned ?? Number.POSITIVE_INFINITY)
    const place = at === last ? 'before the last' : plan.place
    // Of a body that will be closed early, nothing is let through before that is known to be a chunk of its own.
    const head = plan.place === 'closed' && count < cuts ? (after(all, '\r\n\r\n', 0) ?? 0) : all.length
    const upTo = (end: number) => piece.subarray(0, Math.max(0, end - exchange.said.length))
    if (at > all.length) return line.pass(upTo(head))
    line.pass(upTo(Math.min(at, head)))
    if (place === 'closed') line.pass(onlyChunk(all.subarray(all.indexOf('id: ', head), at)))
    done.set(place, (done.get(place) ?? 0) + 1)
    left.add(exchange)
    if (!onCut(++count)) line.cut()
  })
  return { ...proxy, done: () => count, places: () => Object.fromEntries(done) }
}

function newPlan(count: number): Plan {
  return {
    place: places[count % places.length] ?? 'within',
    // Those of several chunks would have more between them than a chunk may hold.
    frames: places[count % places.length] === 'closed' ? 1 : 1 + Math.floor(Math.random() * 2),
    share: Math.random(),
  }
}

/** Where these bytes are cut; undefined while that has not come. */
function placeIn(bytes: Buffer, { place, frames, share }: Plan): number | undefined {
  const head = after(bytes, '\r\n\r\n', 0)
  if (place === 'head') return Math.floor(share * (head ?? bytes.length))
  if (head === undefined) return undefined
  let from: number | undefined = head
  for (let passed = 0; passed < frames && from !== undefined; passed++) from = endOfEvent(bytes, from)
  if (from === undefined || place === 'between' || place === 'closed') return from
  const end = endOfEvent(bytes, from)
  return end && from + 1 + Math.floor(share * (end - from - 2))
}

/** A whole body in chunks, of which this is the first and the last. */
function onlyChunk(bytes: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n0\r\n\r\n')])
}

function endOfEvent(bytes: Buffer, from: number): number | undefined {
  const begin = after(bytes, 'id: ', from)
  return begin && after(bytes, '\n\n', begin)
}

function after(bytes: Buffer, text: string, from: number): number | undefined {
  const at = bytes.indexOf(text, from)
  return at === -1 ? undefined : at + text.length
}

function beginOfLast(bytes: Buffer): number | undefined {
  const told = bytes.indexOf('"session.status_idle"')
  return told === -1 ? undefined : bytes.lastIndexOf('id: ', told)
}
