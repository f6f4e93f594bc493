import type { Logger } from './logger.ts'

const hardDeadlineMs = 30_000

/**
 * Stops a process in good order: on the first SIGTERM or SIGINT `begin` is told, then the steps run one after
 * the other, and the process ends by itself because nothing is left to do. Only when something keeps it from
 * that does the deadline end it.
 */
export function onStopSignal(logger: Logger, begin: AbortController, steps: () => Promise<void>): void {
  const stop = (signal: NodeJS.Signals) => {
    if (begin.signal.aborted) return
    logger.info({ signal }, 'stopping')
    begin.abort()
    setTimeout(() => {
      logger.error('not stopped in time; ending anyway')
      process.exit(1)
    }, hardDeadlineMs).unref()
    steps().then(
      () => logger.info('stopped'),
      (error) => {
        logger.error({ err: error }, 'stopping failed')
        process.exitCode = 1
      },
    )
  }
  process.on('SIGTERM', stop)
  process.on('SIGINT', stop)
}
