import { mkdtempSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { createServer, type Http2Server } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createEndpointHandler, service, type WorkflowContext, workflow } from '@restatedev/restate-sdk'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { PausedRuns } from '#running/runs/tend.ts'
import { type RestateServer, startRestate } from '../../../../stack/restate.ts'
import { until } from '../../../../test/support/processes.ts'
import { definitionOf, type Runs, runsOf } from '../../../../test/support/workflows.ts'
import { createDatabase, type House, openHouse } from '../support/house.ts'
import { runParts } from '../support/runs.ts'

/** A real engine, and a worker whose every attempt fails until it is told otherwise: two of them, and it is put aside. */
let engine: RestateServer
let worker: Http2Server
let house: House
let runs: Runs
let isMended = false
const dir = mkdtempSync(join(tmpdir(), 'guildhall-aside-'))
const reached: string[] = []

beforeAll(async () => {
  engine = await startRestate({ dir })
  const identityKeys = [engine.identityKey]
  worker = createServer(
    createEndpointHandler({ services: [failing, failingSteps], identityKeys, logger: () => {} }),
  )
  await new Promise<void>((resolve) => worker.listen(0, '127.0.0.1', resolve))
  const uri = `http://127.0.0.1:${(worker.address() as AddressInfo).port}`
  const headers = { 'content-type': 'application/json' }
  const body = JSON.stringify({ uri })
  const answer = await fetch(`${engine.adminUrl}/deployments`, { method: 'POST', headers, body })
  expect(answer.status, await answer.text()).toBe(201)
  house = await openHouse({
    DATABASE_URL: await createDatabase(),
    RESTATE_INGRESS_URL: engine.ingressUrl,
    RESTATE_ADMIN_URL: engine.adminUrl,
  })
  runs = runsOf(house, await house.newPerson())
  await runs.install('nap', definitionOf('nap', [{ type: 'sleep', id: 's', duration: 60_000 }]))
})

afterAll(async () => {
  await house?.close()
  await engine?.stop()
  worker?.close()
  await rm(dir, { recursive: true, force: true })
})

const failing = workflow({
  name: 'WorkflowRun',
  handlers: {
    run: async (ctx: WorkflowContext): Promise<void> => {
      if (!isMended) throw new Error('no database here')
      reached.push(ctx.key)
    },
  },
  options: {
    journalRetention: 0,
    retryPolicy: { initialInterval: 10, maxAttempts: 2, onMaxAttempts: 'pause' },
  },
})

const failingSteps = service({
  name: 'StepRunner',
  handlers: {
    run: async (): Promise<void> => {
      throw new Error('no database here')
    },
  },
  options: {
    journalRetention: 0,
    retryPolicy: { initialInterval: 10, maxAttempts: 2, onMaxAttempts: 'pause' },
  },
})

const asides = () => house.deps.engine.listPaused(10)

async function putAside(): Promise<string> {
  isMended = false
  const runId = await runs.start('nap')
  await until(async () => (await asides()).some((call) => call.runId === runId), 20_000)
  return runId
}

test('what was put aside is tried again', async () => {
  const runId = await putAside()
  isMended = true
  await new PausedRuns(runParts(house), { lookEveryMs: 0, tendForMs: 60_000 }).tend()
  await until(() => reached.includes(runId), 20_000)
  expect(await asides()).toEqual([])
})

test('what fails for longer than it is tended to is ended, and its run with it', async () => {
  const runId = await putAside()
  const paused = new PausedRuns(runParts(house), { lookEveryMs: 0, tendForMs: 1 })
  await until(async () => {
    await paused.tend()
    return (await runs.get(runId)).body.run.status === 'failed'
  }, 20_000)
  const { run, steps } = (await runs.get(runId)).body
  expect(run.snapshot.error).toMatchObject({ name: 'WorkflowError', code: 'INTERNAL_ERROR' })
  expect(
    Object.values(steps as Record<string, { status: string }>).map(({ status }) => status),
  ).not.toContain('running')
  await until(async () => (await asides()).length === 0, 20_000)
  isMended = true
  expect(reached).not.toContain(runId)
})

test('after a time without the database the hour begins again', async () => {
  const runId = await putAside()
  const parts = runParts(house)
  // As it says when the server has not answered for a while.
  const database = Object.create(parts.database, { steadyMs: { value: 0 } })
  const paused = new PausedRuns({ ...parts, database }, { lookEveryMs: 0, tendForMs: 1 })
  await paused.tend()
  await until(async () => (await asides()).some((call) => call.runId === runId), 20_000)
  await paused.tend()
  expect((await runs.get(runId)).body.run.status).toBe('running')
})

test('a step that is put aside is ended too, so that who called it goes on', async () => {
  const headers = { 'content-type': 'application/json' }
  const answer = fetch(`${engine.ingressUrl}/StepRunner/run`, { method: 'POST', headers, body: '{}' })
  await until(async () => (await asides()).some(({ runId }) => runId === undefined), 20_000)
  const paused = new PausedRuns(runParts(house), { lookEveryMs: 0, tendForMs: 1 })
  let isOver = false
  const ended = answer.then(({ ok }) => {
    isOver = true
    return ok
  })
  await until(async () => {
    await paused.tend()
    return isOver
  }, 20_000)
  expect(await ended).toBe(false)
  expect((await asides()).filter(({ runId }) => runId === undefined)).toEqual([])
})
