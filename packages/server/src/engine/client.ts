import { connect, SendOpts } from '@restatedev/restate-sdk-clients'
import { fetchWithin } from './deadline.ts'
import { engineId } from './engine-id.ts'
import type { ExecutionCall, ExecutionService } from './execution-service.ts'
import type { heartbeat } from './heartbeat.ts'
import type { AnswerWord, WorkflowService } from './workflow-run.ts'

const answerWithinMs = 1000
/** An engine that moves to another node answers again after a few seconds; one that is not there refuses at once. */
const takenWithinMs = 8000
/** Only the name travels: the API does not load the handlers' code. */
const heartbeatService: typeof heartbeat = { name: 'Heartbeat' }
const executionService: ExecutionService = { name: 'ExecutionRunner' }
const workflowService: WorkflowService = { name: 'WorkflowRun' }

/** How the API speaks to the durable engine. */
export interface EngineClient {
  /** Has a worker take a started execution. Asked again for the same offer, nothing more happens. */
  runExecution(call: ExecutionCall): Promise<void>
  /** Has a run carried, and gives the id of what carries it; asked again, nothing more happens. */
  launchRun(runId: string): Promise<string>
  /** Tells a run which answer was let through. */
  answerRun(runId: string, word: AnswerWord): Promise<void>
  /** Has the engine stop; it does so as soon as it has a worker, and then once for good. */
  cancelRun(runId: string, invocationId: string): Promise<void>
  /** Lets whoever waits for it go on. */
  resolveAwakeable(awakeableId: string): Promise<void>
  /** Whether the engine answers, and whether it reaches a worker. */
  check(): Promise<{ engine: boolean; workers: boolean }>
}

export function createEngineClient(ingressUrl: string): EngineClient {
  const asking = fetchWithin(answerWithinMs)
  const soon = connect({ url: ingressUrl, retry: false, fetch: asking })
  const patient = connect({ url: ingressUrl, retry: false, fetch: fetchWithin(takenWithinMs) })
  const engineAnswers = async () => (await asking(`${ingressUrl}/restate/health`)).ok
  const workerAnswers = watchPulse(async () => (await soon.serviceClient(heartbeatService).beat()).alive)
  const tell = async (runId: string, handler: 'answer' | 'cancel', parameter: AnswerWord | string) => {
    const key = engineId('run', runId)
    await patient.send({ service: workflowService.name, handler, key, parameter })
  }
  return {
    launchRun: async (runId) => {
      const { invocationId } = await patient
        .workflowClient(workflowService, engineId('run', runId))
        .workflowSubmit()
      return invocationId
    },
    answerRun: (runId, word) => tell(runId, 'answer', word),
    cancelRun: async (runId, invocationId) => tell(runId, 'cancel', engineId('invocation', invocationId)),
    resolveAwakeable: async (awakeableId) =>
      patient.resolveAwakeable(engineId('awakeable', awakeableId), null),
    runExecution: async (call) => {
      const idempotencyKey = `${call.executionRowId}:${call.attempt}:${call.offer}`
      await soon.serviceSendClient(executionService).run(call, SendOpts.from({ idempotencyKey }))
    },
    check: async () => {
      const [engine, workers] = await Promise.all([orFalse(engineAnswers()), orFalse(workerAnswers())])
      return { engine, workers: engine && workers }
    },
  }
}

/** Longer than the engine needs to get from a worker that hangs to another one, if it has to try a few times. */
const believedMs = 20_000

/**
 * Whether workers are there. One of several that hangs makes some beats late and breaks others off; as long as some come
 * back, it is not the workers that are away. An engine that reaches none at all says so.
 */
function watchPulse(beat: () => Promise<boolean>): () => Promise<boolean> {
  let beatenAt = Number.NEGATIVE_INFINITY
  const tryOnce = () =>
    beat().catch((error: unknown) =>
      error instanceof Error && error.name === 'TimeoutError' ? 'late' : false,
    )
  return async () => {
    const answer = (await tryOnce()) || (await tryOnce())
    if (answer === true) beatenAt = performance.now()
    return answer === 'late' ? performance.now() - beatenAt < believedMs : answer
  }
}

function orFalse(answer: Promise<boolean>): Promise<boolean> {
  return answer.catch(() => false)
}
