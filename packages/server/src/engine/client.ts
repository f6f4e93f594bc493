import { connect, Opts } from '@restatedev/restate-sdk-clients'
import type { heartbeat } from './heartbeat.ts'

const answerWithinMs = 1000
/** Only the name travels: the API does not load the handlers' code. */
const heartbeatService: typeof heartbeat = { name: 'Heartbeat' }

/** How the API speaks to the durable engine. */
export interface EngineClient {
  /** Whether the engine answers, and whether it reaches a worker. */
  check(): Promise<{ engine: boolean; workers: boolean }>
}

export function createEngineClient(ingressUrl: string): EngineClient {
  const ingress = connect({ url: ingressUrl, retry: false })
  const engineAnswers = async () => {
    const response = await fetch(`${ingressUrl}/restate/health`, {
      signal: AbortSignal.timeout(answerWithinMs),
    })
    return response.ok
  }
  const workerAnswers = async () => {
    const { alive } = await ingress
      .serviceClient(heartbeatService)
      .beat(Opts.from({ timeout: answerWithinMs }))
    return alive
  }
  return {
    check: async () => {
      const [engine, workers] = await Promise.all([orFalse(engineAnswers()), orFalse(workerAnswers())])
      return { engine, workers }
    },
  }
}

function orFalse(answer: Promise<boolean>): Promise<boolean> {
  return answer.catch(() => false)
}
