import { workspaceChannel } from '#platform/bus.ts'
import type { Exchange } from './exchange.ts'
import type { Place } from './sealed.ts'

/** What is followed, as it is now. */
interface Look<T> {
  readonly value: T
  readonly isOver: boolean
  /** Grows with the work. */
  readonly progress: number
  readonly message: string | undefined
}

interface Followed<T> {
  readonly kind: Place['kind']
  readonly target: string
  readonly after: number
  look(): Promise<Look<T>>
}

const lookEveryMs = 1000
const leastBetweenMs = 250
/** Clients that count their time from the last word are told something at least so often. */
const sayEveryMs = 15_000
/** Between two words when nothing has happened: progress has to grow. */
const smallStep = 0.001

/**
 * Looks until it is over, the time is, the client has gone or the process stops; then what there is is the answer. The
 * work itself goes on in any case. Told of news by the bus, asks by itself every second, because word can be lost, and
 * looks again only when something has come of it.
 */
export async function follow<T>(
  exchange: Exchange,
  followed: Followed<T>,
  until: number,
  toldBefore = 0,
): Promise<T> {
  let told = toldBefore
  const { kind, target, after } = followed
  exchange.resumeAt(() => ({ kind, target, progress: told, after, until }))
  const { signal, stopping } = exchange
  let look = await followed.look()
  const isDone = () => look.isOver || Date.now() >= until || stopping.aborted
  let saidAt = Date.now()
  const tell = async () => {
    told = Math.max(look.progress, told + smallStep)
    saidAt = Date.now()
    await exchange.progress(told, look.message)
  }
  /** Who was told how far it is hears of the rest too, also in a stream that broke off meanwhile. */
  const finish = async () => {
    if (exchange.isStreaming && look.progress > told) await tell()
    return look.value
  }
  signal.throwIfAborted()
  if (isDone()) return finish()
  return exchange.whileWanted(async () => {
    let mark: string | undefined
    while (!isDone()) {
      const isQuiet = Date.now() - saidAt > sayEveryMs
      if (exchange.progressToken !== undefined && (look.progress > told || isQuiet)) await tell()
      await awaitNews(exchange, until)
      signal.throwIfAborted()
      const now = await exchange.findMark(kind, target)
      if (now !== mark || now === undefined) look = await followed.look()
      mark = now
      signal.throwIfAborted()
    }
    return finish()
  })
}

async function awaitNews({ bus, caller, signal, stopping }: Exchange, until: number): Promise<void> {
  const began = Date.now()
  const ends = AbortSignal.any([signal, stopping])
  const wait = (channel: string, ms: number) => bus.wait(channel, ends, Math.min(ms, until - Date.now()))
  await wait(workspaceChannel(caller.principal.workspaceId), lookEveryMs)
  const rest = leastBetweenMs - (Date.now() - began)
  if (rest > 0 && !ends.aborted && until > Date.now()) await wait('mcp.rest', rest)
}
