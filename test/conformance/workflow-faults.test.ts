import { expect } from 'vitest'
import { pidsOf } from '../support/processes.ts'
import { patienceFor } from '../support/sizes.ts'
import { must, newPerson, newVisitor } from './support/actors.ts'
import { pause } from './support/client.ts'
import { withDatabase } from './support/database.ts'
import { withFailingInsert } from './support/fault.ts'
import { expectRefusal } from './support/shapes.ts'
import { stack, stackOnly } from './support/stack-only.ts'
import {
  ask,
  begin,
  cancel,
  echo,
  flow,
  getQueue,
  getRun,
  install,
  launch,
  listRuns,
  mapping,
  mustInstall,
  mustLaunch,
  nap,
  newWorkflowArtifact,
  question,
  reached,
  resume,
  runThrough,
  settled,
  type WorkflowRecord,
} from './support/workflows.ts'
import { verifies } from './verifies.ts'

/** `RUNS_PER_WORKSPACE`, when nothing else is said. */
const placesPerWorkspace = 50

/** The engine takes no word meanwhile. */
async function withoutEngine<T>(work: () => Promise<T>): Promise<T> {
  const { restate } = pidsOf(stack().dir)
  process.kill(restate, 'SIGSTOP')
  try {
    return await work()
  } finally {
    process.kill(restate, 'SIGCONT')
  }
}

stackOnly('without the engine there is no launch, also not later', async () => {
  verifies('runs:launch:unavailable-503')
  const person = await newPerson()
  await mustInstall(person, flow([echo]))
  expectRefusal(await withoutEngine(() => launch(person)), 503, 'SERVICE_UNAVAILABLE')
  expect(await listRuns(person)).toEqual([])
  const { run } = await settled(person, await mustLaunch(person))
  await pause(2000)
  expect((await listRuns(person)).map(({ runId }) => runId)).toEqual([run.runId])
})

stackOnly('without the engine there is no launch that would have waited for a place either', async () => {
  verifies('runs:launch:unavailable-503')
  const person = await newPerson()
  await mustInstall(person, flow([nap]))
  const working = await Promise.all(Array.from({ length: placesPerWorkspace }, () => mustLaunch(person)))
  // A run that sleeps gives its place away; these hold theirs again.
  await withDatabase(async (database) => {
    const ofPerson = `workflow_runs where workspace_id = '${person.workspaceId}' and advancing`
    const advancing = async () => (await database.query(`select 1 from ${ofPerson}`)).rowCount
    await expect.poll(advancing, { timeout: patienceFor(20_000) }).toBe(0)
    await database.query('update workflow_runs set advancing = true where workspace_id = $1', [
      person.workspaceId,
    ])
  })
  const runIds = async () => (await listRuns(person, '?limit=200')).map(({ runId }) => runId).toSorted()
  expectRefusal(await withoutEngine(() => launch(person)), 503, 'SERVICE_UNAVAILABLE')
  expect(await runIds()).toEqual(working.toSorted())
  await pause(2000)
  expect(await runIds()).toEqual(working.toSorted())
  const waiting = await mustLaunch(person)
  const { queued } = await getQueue(person)
  expect(queued.filter(({ status }) => status === 'queued')).toMatchObject([{ runId: waiting }])
  await Promise.all([...working, waiting].map((runId) => cancel(person, runId)))
})

stackOnly('without the engine an answer is not taken, and can be given again', async () => {
  verifies('errors:code:resume-failed')
  const person = await newPerson()
  const { run } = await runThrough(person, [question, ask])
  const { runId } = run
  const refused = await withoutEngine(() => resume(person, runId, { resumeData: 'first' }))
  expectRefusal(refused, 500, 'RESUME_FAILED')
  expect((await getRun(person, runId)).run.status).toBe('suspended')
  must(await resume(person, runId, { resumeData: 'second' }), 200)
  expect((await settled(person, runId)).run.snapshot.result).toEqual({ answer: 'second' })
})

stackOnly('a run that is suspended without a question takes no answer', async () => {
  verifies('errors:code:no-suspend-frame')
  const person = await newPerson()
  const runId = await begin(person, [nap])
  await reached(person, runId, 'nap')
  await withDatabase((database) =>
    database.query(`update workflow_runs set status = 'suspended' where run_id = $1`, [runId]),
  )
  expectRefusal(await resume(person, runId, { resumeData: 'yes' }), 409, 'NO_SUSPEND_FRAME')
  expect((await cancel(person, runId)).status).toBe(200)
})

stackOnly('a store that fails leaves the workflow as it was', async () => {
  verifies('errors:internal:workflow-write-failed')
  const person = await newPerson()
  const before = await mustInstall(person, flow([echo]))
  const row = { workspace_id: person.workspaceId }
  const changed = flow([mapping({ a: { value: 'changed' } })])
  for (const [slug, expected] of [
    ['flow', before],
    ['new', undefined],
  ] as const) {
    const refused = await withFailingInsert('workflows', row, () => install(person, changed, slug))
    expectRefusal(refused, 500, 'INTERNAL_ERROR')
    const { status, body } = await person.get<WorkflowRecord>(`/workflows/${slug}`)
    if (expected) expect(body).toEqual(expected)
    else expect(status).toBe(404)
  }
})

stackOnly('a launch that fails on our side says so much', async () => {
  verifies('runs:launch:500-details-cause')
  const person = await newPerson()
  await mustInstall(person, flow([echo]))
  const row = { workspace_id: person.workspaceId }
  const refused = await withFailingInsert('workflow_runs', row, () => launch(person))
  const { details } = expectRefusal(refused, 500, 'INTERNAL_ERROR')
  const cause = details?.['cause'] as string | { message: string }
  expect(typeof cause === 'string' ? cause : cause.message).toMatch(/\S/)
  expect(await listRuns(person)).toEqual([])
})

stackOnly('steps that cannot be read leave the run to be seen', async () => {
  verifies('runs:get:steps-empty-on-hydration-failure')
  const person = await newPerson()
  const { run, steps } = await runThrough(person, [echo])
  expect(Object.keys(steps)).toEqual(['echo'])
  await withDatabase((database) =>
    database.query(`update workflow_steps set record = 'null' where run_id = $1`, [run.runId]),
  )
  const broken = await getRun(person, run.runId)
  expect(broken.run).toMatchObject({ runId: run.runId, status: 'success' })
  expect(broken.steps).toEqual({})
})

stackOnly('an artifact that lost its workflow.json is our fault', async () => {
  verifies('workflows:artifact-install:lacks-file-500')
  const person = await newPerson()
  const artifactId = await newWorkflowArtifact(person, flow([echo]))
  const files = [{ path: 'notes.txt', content: 'no workflow' }]
  const other = must(await person.post<{ id: string }>('/artifacts', { type: 'file', files }), 201)
  await withDatabase((database) =>
    database.query(
      `update artifacts set content_checksum = (select content_checksum from artifacts where id = $2) where id = $1`,
      [artifactId, other.id],
    ),
  )
  const answer = await person.post('/workflows/install-from-artifact', { artifactId })
  expectRefusal(answer, 500, 'INTERNAL_ERROR')
})

stackOnly('runs outlive every process', async () => {
  verifies('workflows:run:durable-three-properties')
  const person = await newPerson()
  const start = async (slug: string, graph: readonly unknown[]) => {
    await mustInstall(person, flow(graph), slug)
    return mustLaunch(person, {}, slug)
  }
  const sleeping = await start('sleeping', [{ ...nap, duration: 8000 }, echo])
  const waiting = await start('waiting', [question, ask])
  const unwanted = await start('unwanted', [nap])
  await settled(person, waiting)
  await reached(person, sleeping, 'nap')
  await reached(person, unwanted, 'nap')
  expect((await getQueue(person)).queued.map(({ runId }) => runId)).toContain(sleeping)
  const { api, worker, restate } = pidsOf(stack().dir)
  for (const pid of [...api, ...worker, restate]) process.kill(pid, 'SIGKILL')
  await expect
    .poll(
      () =>
        newVisitor()
          .get('root:/readyz')
          .then(({ body }) => (body as { status: string }).status)
          .catch(() => 'away'),
      {
        timeout: 40_000,
        interval: 200,
      },
    )
    .toBe('ok')
  expect((await getRun(person, waiting)).run.status).toBe('suspended')
  must(await resume(person, waiting, { resumeData: 'yes' }), 200)
  must(await cancel(person, unwanted), 200)
  const ends = await Promise.all([
    settled(person, sleeping),
    settled(person, waiting),
    getRun(person, unwanted),
  ])
  expect(ends.map(({ run }) => run.status)).toEqual(['success', 'success', 'canceled'])
})
