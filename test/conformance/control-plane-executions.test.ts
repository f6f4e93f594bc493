import { expect, test } from 'vitest'
import { patienceFor } from '../support/sizes.ts'
import { type HeardSocket, openSocket } from '../support/sockets.ts'
import { inWorkspace, must, newKey, newWorkspace } from './support/actors.ts'
import type { Caller, SendOptions } from './support/client.ts'
import { mustConnect } from './support/consent.ts'
import {
  bash,
  broken,
  cancel,
  errand,
  installSkill,
  lasting,
  mustRun,
  newRunner,
  quick,
  readLog,
  runThrough,
  script,
} from './support/executions.ts'
import { isoPattern } from './support/shapes.ts'
import { verifies } from './verifies.ts'

async function listen(caller: Caller, options?: SendOptions): Promise<HeardSocket> {
  return openSocket(must(await caller.get<{ url: string }>('/events/subscribe-url', options), 200).url)
}

const typesAbout = ({ heard }: HeardSocket, executionId: string): string[] =>
  heard.filter((event) => event.executionId === executionId).map(({ type }) => type)

/** Waits until the end of an execution was told, and gives all that was told of it. */
async function heardOf(socket: HeardSocket, executionId: string): Promise<string[]> {
  const hasEnd = () => typesAbout(socket, executionId).some((type) => /-(completed|failed)$/.test(type))
  await expect.poll(hasEnd, { timeout: patienceFor(5000), interval: 20 }).toBe(true)
  return typesAbout(socket, executionId)
}

test('the socket tells of a run from its start to its end', async () => {
  verifies(
    'control-plane:event:execution-started',
    'control-plane:event:execution-progress',
    'control-plane:event:execution-completed',
    'control-plane:event:payload',
  )
  const person = await newRunner()
  const sockets = [await listen(person), await listen(await newKey(person))]
  const tools = [bash('true')]
  const { executionId } = await runThrough(person, script({ tools }, { tools }, { say: 'Done.' }))
  // What comes after tells that nothing more was on its way.
  const later = (await runThrough(person, quick)).executionId
  for (const socket of sockets) {
    await heardOf(socket, later)
    const types = typesAbout(socket, executionId)
    const progress = types.slice(1, -1)
    expect([types[0], types.at(-1)]).toEqual(['execution-started', 'execution-completed'])
    expect(progress.length).toBeGreaterThan(0)
    expect(new Set(progress)).toEqual(new Set(['execution-progress']))
    for (const event of socket.heard) {
      expect(event).toMatchObject({
        id: expect.stringMatching(/./),
        type: expect.stringMatching(/./),
        workspaceId: person.workspaceId,
        at: expect.stringMatching(isoPattern),
      })
      if (event.type.startsWith('execution-')) {
        expect(event).toMatchObject({ executionId: expect.stringMatching(/./), skillSlug: errand })
      }
    }
    expect(new Set(socket.heard.map(({ id }) => id)).size).toBe(socket.heard.length)
    socket.socket.close()
  }
})

test('the socket tells of a run that failed, once', async () => {
  verifies('control-plane:event:execution-failed', 'control-plane:event:execution-started')
  const person = await newRunner()
  const socket = await listen(person)
  const canceled = await mustRun(person, lasting)
  await cancel(person, canceled)
  const failing = (await runThrough(person, broken)).executionId
  const later = (await runThrough(person, quick)).executionId
  await heardOf(socket, later)
  for (const executionId of [canceled, failing]) {
    const types = typesAbout(socket, executionId)
    expect(types[0]).toBe('execution-started')
    expect(types.filter((type) => type === 'execution-failed')).toHaveLength(1)
    expect(types).not.toContain('execution-completed')
  }
  socket.socket.close()
})

test('a socket hears of no run in another workspace', async () => {
  verifies('control-plane:isolation:own-workspace-only')
  const person = await newRunner()
  const stranger = await newRunner()
  const workspace = await newWorkspace(person)
  const team = inWorkspace(workspace.id)
  await installSkill(person, errand, team)
  const declared = await newKey(person, { access: 'declared' }, team)
  const ofSession = await listen(person)
  const ofKey = await listen(await newKey(person))
  const ofTeam = await listen(person, team)
  const there = await mustRun(person, quick, {}, team)
  await readLog(person, there, team)
  const { consent_id } = await mustConnect(declared)
  const foreign = (await runThrough(stranger, quick)).executionId
  const here = (await runThrough(person, quick)).executionId
  for (const socket of [ofSession, ofKey]) {
    await heardOf(socket, here)
    for (const executionId of [there, foreign]) expect(typesAbout(socket, executionId)).toEqual([])
  }
  const elsewhere = (socket: HeardSocket, workspaceId: string) =>
    socket.heard.filter((event) => event.workspaceId !== workspaceId)
  expect(elsewhere(ofKey, person.workspaceId)).toEqual([])
  expect(elsewhere(ofSession, person.workspaceId)).toEqual([
    expect.objectContaining({
      type: 'approval-requested',
      approvalId: consent_id,
      workspaceId: workspace.id,
    }),
  ])
  expect(await heardOf(ofTeam, there)).toContain('execution-completed')
  expect(elsewhere(ofTeam, workspace.id)).toEqual([])
  for (const { socket } of [ofSession, ofKey, ofTeam]) socket.close()
})
