import { connect, SendOpts } from '@restatedev/restate-sdk-clients'
import type { AnswerWord, EngineClient } from '#platform/engine-client.ts'
import { fetchWithin } from './deadline.ts'
import { engineId } from './engine-id.ts'
import type { ExecutionService } from './execution-service.ts'
import type { heartbeat } from './heartbeat.ts'
import { pausedCalls } from './paused.ts'
import { watchPulse } from './pulse.ts'
import type { ThreadService } from './thread-service.ts'
import type { WorkflowService } from './workflow-run.ts'

const answerWithinMs = 1000
/** An engine that moves to another node answers again after a few seconds; one that is not there refuses at once. */
const takenWithinMs = 8000
/** Only the name travels: the API does not load the handlers' code. */
const heartbeatService: typeof heartbeat = { name: 'Heartbeat' }
const executionService: ExecutionService = { name: 'ExecutionRunner' }
const workflowService: WorkflowService = { name: 'WorkflowRun' }
const threadService: ThreadService = { name: 'Thread' }

export function createEngineClient(ingressUrl: string, adminUrl: string): EngineClient {
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
    carryThread: async (call) => {
      const idempotencyKey = `${call.runId}.${call.segment}.${call.offer}`
      await patient
        .objectSendClient(threadService, String(call.threadRowId))
        .run(call, SendOpts.from({ idempotencyKey }))
    },
    ...pausedCalls(adminUrl),
    isAnswering: () => orFalse(engineAnswers()),
    check: async () => {
      const [engine, workers] = await Promise.all([orFalse(engineAnswers()), orFalse(workerAnswers())])
      return { engine, workers: engine && workers }
    },
  }
}

function orFalse(answer: Promise<boolean>): Promise<boolean> {
  return answer.catch(() => false)
}
