import { type Route, routes } from '@guildhall/contract'
import type { Person } from '../../../../test/support/caller.ts'
import {
  asPerson,
  by,
  type Make,
  newAsk,
  newConsent,
  newExecution,
  newPermission,
  newRun,
  newSkill,
  newThread,
  newTrace,
  type Stage,
} from './writing-stage.ts'

/** Of a process, of the clock, or of a connection: these answer what is so at the moment, and to HTTP alone. */
const ofTheMoment = ['getHealth', 'getReadiness', 'getMetrics', 'startSignIn', 'finishSignIn']

export const readingRoutes = Object.entries<Route>(routes)
  .filter(
    ([name, { method, answers }]) => method === 'GET' && answers !== 'events' && !ofTheMoment.includes(name),
  )
  .map(([name, route]) => ({ name, route }))

/** Makes what is read, and gives the request that reads it. Without parameters there is nothing to make. */
export function readingCase(name: string): Make {
  const make = cases[name]
  const { path } = (routes as Record<string, Route>)[name] as Route
  if (!make && path.includes(':')) throw new Error(`Add a case for ${name}: make what its address names`)
  return make ?? asPerson(async () => ({}))
}

const ofSkill = asPerson(async (stage, person) => {
  await newSkill(stage, person)
  return { params: { slug: 'writer' } }
})
const ofExecution = asPerson(async (stage, person) => ({
  params: { executionId: await newExecution(stage, person) },
}))
const ofTrace = asPerson(async (stage, person) => ({ params: { id: await newTrace(stage, person) } }))
const ofThread = asPerson(async (stage, person) => ({ params: { id: await newThread(stage, person) } }))
const ofArtifact = asPerson(async (stage, person) => ({ params: { id: await newFile(stage, person) } }))

async function newFile(stage: Stage, person: Person): Promise<string> {
  const files = [{ path: 'a.txt', content: stage.mark }]
  return (await by(stage, person)('POST', '/artifacts', { type: 'file', files })).id
}

const byKey = (make: (stage: Stage, person: Person, key: string) => Promise<object>): Make =>
  asPerson(async (stage, person) => {
    const { secret } = await stage.house.newKey(person, { scopes: ['agent:list'] })
    return { key: secret, ...(await make(stage, person, secret)) }
  })

const cases: Record<string, Make> = {
  getKey: asPerson(async ({ house }, person) => ({
    params: { id: String((await house.newKey(person)).id) },
  })),
  getKeyTouched: asPerson(async ({ house }, person) => {
    const { id, secret: key } = await house.newKey(person)
    const body = { type: 'file', files: [{ path: 'notes.md', content: 'Touched.' }] }
    await house.call('POST', '/api/v1/artifacts', { key, body })
    return { params: { id: String(id) } }
  }),
  getArtifact: ofArtifact,
  getArtifactContent: ofArtifact,
  getMarketplaceSkill: async () => ({ params: { slug: 'never-was' } }),
  getMarketplaceBundle: async () => ({ params: { slug: 'never-was' } }),
  getSkill: ofSkill,
  listSkillVersions: ofSkill,
  diffSkillVersions: ofSkill,
  exportSkill: ofSkill,
  getExecutionStatus: ofExecution,
  getStreamToken: ofExecution,
  listExecutions: asPerson(async (stage, person) => {
    await newExecution(stage, person)
    return {}
  }),
  listTraces: asPerson(async (stage, person) => {
    await newTrace(stage, person)
    return {}
  }),
  listThreads: ofThread,
  getThread: ofThread,
  listThreadMessages: ofThread,
  listThreadRuns: ofThread,
  listThreadNotifications: ofThread,
  getThreadRun: asPerson(async (stage, person) => {
    const id = await newThread(stage, person)
    const { activeRunId } = await by(stage, person)('GET', `/threads/${id}`)
    return { params: { id, runId: activeRunId } }
  }),
  getTrace: ofTrace,
  getTraceEvents: ofTrace,
  exportTrace: ofTrace,
  listHandovers: ofTrace,
  getTraceBrief: ofTrace,
  getAgent: asPerson(async (stage, person) => {
    await by(stage, person)('POST', '/agents', { slug: 'reader', name: stage.mark })
    return { params: { agentId: `${person.workspaceId}:reader` } }
  }),
  listAgentVersions: asPerson(async (stage, person) => {
    await by(stage, person)('POST', '/agents', { slug: 'reader', name: stage.mark })
    return { params: { agentId: 'reader' } }
  }),
  getWorkflow: asPerson(async (stage, person) => {
    await newRun(stage, person)
    return { params: { slug: 'asking' } }
  }),
  listTraceReceipts: asPerson(async (stage, person) => {
    const executionId = await newExecution(stage, person)
    const { traceId } = await by(stage, person)('GET', `/executions/${executionId}/status`)
    return { params: { id: traceId } }
  }),
  // Of two that were made apart no byte of the signature is the same; receipts.test.ts reads real ones.
  getReceipt: asPerson(async () => ({ params: { id: 'receipt_never-was' } })),
  getWorkflowRunDefinition: asPerson(async (stage, person) => ({
    params: { runId: await newRun(stage, person) },
  })),
  getWorkflowRun: asPerson(async (stage, person) => ({ params: { runId: await newRun(stage, person) } })),
  getAgentSelf: byKey(async () => ({})),
  getApproval: asPerson(async (stage, person) => ({ params: { id: await newPermission(stage, person) } })),
  pollConsent: asPerson(async (stage, person) => {
    const { consent_id } = await newConsent(stage, person, ['agent:list'])
    return { params: { consentId: consent_id } }
  }),
  pollAsk: asPerson(async (stage, person) => {
    const { key, askId } = await newAsk(stage, person)
    return { key, params: { askId } }
  }),
  pollPermission: asPerson(async (stage, person) => ({
    params: { requestId: await newPermission(stage, person) },
  })),
}
