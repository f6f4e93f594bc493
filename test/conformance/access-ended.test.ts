import { expect, test } from 'vitest'
import {
  addMember,
  inWorkspace,
  type Key,
  must,
  newKey,
  newPerson,
  newWorkspace,
  type Person,
} from './support/actors.ts'
import { errand, installSkill, lasting, list, mustRun, quick, seen, statusOf } from './support/executions.ts'
import {
  ask,
  echo,
  flow,
  getRun,
  mapping,
  mustInstall,
  mustLaunch,
  nap,
  question,
  reached,
  resume,
  settled,
  tool,
} from './support/workflows.ts'
import { verifies } from './verifies.ts'

interface Ledger {
  items: { kind: string }[]
}

async function spentBy(person: Person): Promise<string[]> {
  const { items } = must(await person.get<Ledger>('/billing/ledger'), 200)
  return items.map(({ kind }) => kind).filter((kind) => kind !== 'grant')
}

const revoke = (person: Person, key: Key, query = '') =>
  person.delete<{ stopped: number }>(`/keys/${key.id}${query}`)

test('a run that sleeps wakes to nothing when its key was revoked', async () => {
  verifies('runs:access:ended')
  const person = await newPerson()
  const key = await newKey(person)
  await mustInstall(person, flow([{ type: 'sleep', id: 'nap', duration: 4000 }, echo]))
  const runId = await mustLaunch(key)
  await reached(person, runId, 'nap')
  must(await revoke(person, key), 200)
  const { run, steps } = await settled(person, runId)
  expect([run.status, run.snapshot.error?.code]).toEqual(['failed', 'ACCESS_ENDED'])
  expect(steps).not.toHaveProperty('echo')
})

test('a run that slept through the removal of its member wakes to nothing, also when they are back', async () => {
  verifies('runs:access:ended')
  const [owner, member] = await Promise.all([newPerson(), newPerson()])
  const { id: workspaceId } = await newWorkspace(owner)
  const join = async () => {
    await addMember(owner, workspaceId, member)
    must(await member.put('/workspaces/current', { workspaceId }), 200)
  }
  await join()
  await mustInstall(member, flow([{ type: 'sleep', id: 'nap', duration: 4000 }, echo]))
  const runId = await mustLaunch(member)
  await reached(member, runId, 'nap')
  const removed = `/workspaces/current/members/${member.userId}`
  must(await owner.delete(removed, inWorkspace(workspaceId)), 200)
  await join()
  const { run, steps } = await settled(member, runId)
  expect([run.status, run.snapshot.error?.code]).toEqual(['failed', 'ACCESS_ENDED'])
  expect(steps).not.toHaveProperty('echo')
})

test('a run that waits for an answer starts no skill after it when its key was revoked', async () => {
  verifies('runs:access:ended')
  const person = await newPerson()
  await installSkill(person)
  const key = await newKey(person)
  const skill = mapping({ slug: { value: errand }, input: { value: quick } }, 'what')
  await mustInstall(person, flow([question, ask, skill, tool('execute-skill', 'skill')]))
  const runId = await mustLaunch(key)
  expect((await settled(person, runId)).run.status).toBe('suspended')
  must(await revoke(person, key), 200)
  must(await resume(person, runId, { resumeData: 'yes' }), 200)
  const { run } = await settled(person, runId)
  expect([run.status, run.snapshot.error?.code]).toEqual(['failed', 'ACCESS_ENDED'])
  expect((await list(person)).items).toEqual([])
  expect(await spentBy(person)).toEqual([])
})

test('a key that is revoked with all that it runs takes its runs along', async () => {
  verifies('runs:key:stop-running')
  const person = await newPerson()
  await installSkill(person)
  const key = await newKey(person)
  await mustInstall(person, flow([nap]), 'sleeping')
  await mustInstall(person, flow([question, ask]), 'asking')
  const sleeping = await mustLaunch(key, {}, 'sleeping')
  const asking = await mustLaunch(key, {}, 'asking')
  const own = await mustLaunch(person, {}, 'sleeping')
  const executionId = await mustRun(key, lasting)
  await Promise.all([
    reached(person, sleeping, 'nap'),
    settled(person, asking),
    seen(person, executionId, 'agent.tool_use'),
  ])
  expect(must(await revoke(person, key, '?stopRunning=true'), 200).stopped).toBe(3)
  expect((await getRun(person, sleeping)).run.status).toBe('canceled')
  expect((await getRun(person, asking)).run.status).toBe('canceled')
  expect((await getRun(person, own)).run.status).toBe('running')
  expect(await statusOf(person, executionId)).toMatchObject({ status: 'failed', stopReason: 'interrupt' })
  must(await person.post(`/workflows/runs/${own}/cancel`), 200)
})
