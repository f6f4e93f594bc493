import type { Deps } from '#platform/deps.ts'
import type { Via } from './bind.ts'

/** One call that was answered, by whichever transport. */
export interface Observed {
  readonly name: string
  readonly method: string
  readonly path: string
  readonly status: number
  readonly milliseconds: number
  readonly requestId: string
  readonly credential: string | undefined
  readonly address: string
  readonly via: Via
  /** That a line is only worth writing when it went wrong, whatever the method. */
  readonly isQuiet?: boolean | undefined
}

/** Counts an answer and writes its log line. */
export function observe(deps: Pick<Deps, 'metrics' | 'logger'>, call: Observed): void {
  const { status, milliseconds, via, isQuiet } = call
  deps.metrics.observeRequest(call.name, status, milliseconds / 1000)
  // Quiet for reads that went well: the metrics count those.
  const level = status >= 400 || (call.method !== 'GET' && !isQuiet) ? 'info' : 'debug'
  if (!deps.logger.isLevelEnabled(level)) return
  deps.logger[level]({
    requestId: call.requestId,
    method: call.method,
    route: call.path,
    status,
    ms: Math.round(milliseconds * 10) / 10,
    credential: call.credential,
    address: call.address,
    ...(via === 'http' ? {} : { via }),
  })
}
