import { type Route, routes } from '@guildhall/contract'
import type { Person } from '../../../../test/support/caller.ts'
import {
  asPerson,
  by,
  type Make,
  newConsent,
  newExecution,
  newPermission,
  newRun,
  newSkill,
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
  getAgent: asPerson(async (stage, person) => {
    await by(stage, person)('POST', '/agents', { slug: 'reader', name: stage.mark })
    return { params: { agentId: `${person.workspaceId}:reader` } }
  }),
  getWorkflow: asPerson(async (stage, person) => {
    await newRun(stage, person)
    return { params: { slug: 'asking' } }
  }),
  getWorkflowRun: asPerson(async (stage, person) => ({ params: { runId: await newRun(stage, person) } })),
  getAgentSelf: byKey(async () => ({})),
  pollConsent: asPerson(async (stage, person) => {
    const { consent_id } = await newConsent(stage, person, ['agent:list'])
    return { params: { consentId: consent_id } }
  }),
  pollPermission: asPerson(async (stage, person) => ({
    params: { requestId: await newPermission(stage, person) },
  })),
}
