import { readFile, writeFile } from 'node:fs/promises'
import type { Guildhall, Workflow, WorkflowRun } from '@guildhall/sdk'
import type { Handler } from '../command.ts'
import type { Context } from '../context.ts'
import { exit } from '../exit-codes.ts'
import { Failure, usage } from '../failure.ts'
import type { Column } from '../output/columns.ts'
import { ago } from '../output/duration.ts'
import { block, bold, say } from '../output/safe-text.ts'
import { readStdin } from '../prompt.ts'
import { requirePresence } from './decide.ts'
import { fieldsFrom } from './fields.ts'
import { pageOf } from './lists.ts'
import { followRun } from './wf-follow.ts'
import { drawGraph } from './wf-graph.ts'

const mostInputBytes = 10_000_000
const usualFile = 'workflow.json'

export const init: Handler = async ({ input, out }) => {
  const id = input.argument('NAME')
  if (!/^[a-z0-9]+(-[a-z0-9]+)*$/.test(id)) throw usage('A name is in kebab-case.', 'guild wf init pay-order')
  const path = `${id}.workflow.json`
  const definition = {
    id,
    description: 'What it does.',
    inputSchema: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
    outputSchema: {},
    graph: [{ type: 'mapping', id: 'greet', mapConfig: { greeting: { initData: true, path: 'text' } } }],
  }
  await writeFile(path, `${JSON.stringify(definition, null, 2)}\n`, { flag: 'wx' }).catch(() => {
    throw new Failure({
      exitCode: exit.conflict,
      message: `${path} is there already.`,
      next: [`guild wf validate ${path}`],
    })
  })
  out.document({ path }, () => [say`${path}`])
  out.talk(say`Next: guild wf validate ${path}`)
  return exit.done
}

/** A definition as the server takes it: mapConfig as text, no $schema. */
async function definitionFrom(path: string): Promise<Record<string, unknown>> {
  let read: Record<string, unknown>
  try {
    read = JSON.parse(await readFile(path, 'utf8'))
  } catch (cause) {
    throw new Failure({
      exitCode: exit.notValid,
      message: `${path} cannot be read as JSON: ${cause instanceof Error ? cause.message : String(cause)}`,
      next: [`cat ${path}`, 'guild wf init my-workflow'],
      cause,
    })
  }
  const { $schema: _, ...definition } = read
  if (Array.isArray(definition['graph'])) definition['graph'] = definition['graph'].map(withTextConfig)
  return definition
}

function withTextConfig(entry: unknown): unknown {
  if (typeof entry !== 'object' || entry === null || !('mapConfig' in entry)) return entry
  return typeof entry.mapConfig === 'object'
    ? { ...entry, mapConfig: JSON.stringify(entry.mapConfig) }
    : entry
}

export const validate: Handler = async ({ input, out, client, signal }) => {
  const path = input.optional('FILE') ?? usualFile
  const definition = await definitionFrom(path)
  const answer = await (await client()).workflows.validate({ definition }, { signal })
  out.document(answer, () =>
    answer.issues.map(({ path: at, code, message, hint }) => say`${at}\t${code}\t${message} ${hint}`),
  )
  if (answer.valid) out.done(say`${path} can be installed.`)
  return answer.valid ? exit.done : exit.notValid
}

export const install: Handler = async ({ input, out, client, signal }) => {
  const definition = await definitionFrom(input.optional('FILE') ?? usualFile)
  const slug = input.text('as') ?? String(definition['id'] ?? '')
  if (slug === '') throw usage('The definition has no id.', 'guild wf install FILE --as SLUG')
  const workflow = await (await client()).workflows.install(slug, { definition }, { signal })
  out.document(workflow, () => [])
  out.done(say`${workflow.slug} installed. Run it: guild wf launch ${workflow.slug} --watch`)
  return exit.done
}

const columns: readonly Column<Workflow>[] = [
  { head: 'SLUG', cell: ({ slug }) => slug },
  { head: 'NAME', cell: ({ name }) => name, wide: true },
  { head: 'CATEGORY', cell: ({ category }) => category },
  { head: 'INSTALLED', cell: ({ installedAt }, forPeople) => (forPeople ? ago(installedAt) : installedAt) },
]

export const list: Handler = async ({ out, client, signal }) => {
  const items = await (await client()).workflows.list({ signal })
  out.list({ items }, columns, say`No workflow is installed. Next: guild wf init my-workflow`)
  return exit.done
}

export const show: Handler = async ({ input, out, client, signal }) => {
  const workflow = await (await client()).workflows.get(input.argument('SLUG'), { signal })
  if (input.has('definition')) {
    out.document(JSON.parse(workflow.definition), workflow.definition)
    return exit.done
  }
  out.document(workflow, () => [
    say`${bold(workflow.slug)}  ${workflow.name}  ${workflow.category}`,
    say`${workflow.description}`,
    ...drawGraph(JSON.parse(workflow.definition), {}, out),
  ])
  return exit.done
}

/** Of a file, an installed workflow, or a run with how far it is. */
export const graph: Handler = async ({ input, out, client, signal }) => {
  const what = input.optional('WHAT') ?? usualFile
  const fromFile = what.endsWith('.json')
  const found = fromFile
    ? { definition: await definitionFrom(what), steps: {} }
    : await remoteGraph(await client(), what, signal)
  out.document(found, () => drawGraph(found.definition, found.steps, out))
  return exit.done
}

async function remoteGraph(client: Guildhall, what: string, signal: AbortSignal) {
  if (!what.startsWith('run_') && !/^[0-9a-f-]{36}$/.test(what)) {
    const { definition } = await client.workflows.get(what, { signal })
    return { definition: JSON.parse(definition), steps: {} }
  }
  const { run, steps } = await client.runs.get(what, { signal })
  const slug = run.workflowId.split(':').at(-1) ?? run.workflowId
  const { definition } = await client.workflows.get(slug, { signal })
  return { definition: JSON.parse(definition), steps }
}

export const uninstall: Handler = async ({ input, out, client, signal }) => {
  const slug = input.argument('SLUG')
  await (await client()).workflows.uninstall(slug, { signal })
  out.document({ slug, removed: true }, () => [])
  out.done(say`${slug} is gone; its runs go on.`)
  return exit.done
}

async function inputsOf({ input }: Context): Promise<Record<string, unknown>> {
  const source = input.text('inputs')
  const text =
    source === undefined
      ? '{}'
      : source === '-'
        ? (await readStdin(mostInputBytes))?.toString('utf8')
        : await readFile(source, 'utf8')
  try {
    return { ...JSON.parse(text ?? '{}'), ...(await fieldsFrom(input.texts('input'))) }
  } catch (error) {
    if (error instanceof Failure) throw error
    throw usage(`${source} is no JSON object.`, 'guild wf launch SLUG -i name=text -i list:=[1,2]')
  }
}

export const launch: Handler = async (context) => {
  const { input, out, signal } = context
  const id = input.argument('WORKFLOW')
  const inputs = await inputsOf(context)
  const client = await context.client()
  const idempotencyKey = input.text('idempotency-key')
  const handle = await client.workflows.launch(id, { inputs }, { signal, idempotencyKey })
  if (input.has('watch')) return followRun(context, handle, { stops: true, through: input.has('through') })
  out.document({ runId: handle.id }, () => [say`${handle.id}`])
  out.talk(say`Watch: guild wf watch ${handle.id}`)
  return exit.done
}

const runColumns: readonly Column<WorkflowRun>[] = [
  { head: 'RUN', cell: ({ runId }) => runId },
  { head: 'WORKFLOW', cell: ({ workflowId }) => workflowId.split(':').at(-1), wide: true },
  { head: 'STATE', cell: ({ status }) => status },
  { head: 'AT', cell: ({ snapshot }) => Object.keys(snapshot.suspendedPaths).join(' ') || undefined },
  { head: 'UPDATED', cell: ({ updatedAt }, forPeople) => (forPeople ? ago(updatedAt) : updatedAt) },
]

const statuses = ['running', 'suspended', 'success', 'failed', 'canceled'] as const

export const runs: Handler = async (context) => {
  const { input, out, signal } = context
  const status = statuses.find((each) => each === input.text('status'))
  const workflowId = input.text('workflow')
  const query = { ...(status && { status }), ...(workflowId !== undefined && { workflowId }) }
  const pager = (await context.client()).runs.list(query, { signal })
  out.list(await pageOf(input, pager), runColumns, say`No run fits. Next: guild wf launch WORKFLOW --watch`)
  return exit.done
}

export const run: Handler = async ({ input, out, client, signal }) => {
  const found = await (await client()).runs.get(input.argument('RUN'), { signal })
  out.document(found, () => [
    say`${bold(found.run.runId)}  ${found.run.workflowId}  ${found.run.status}`,
    ...Object.entries(found.steps).map(
      ([id, step]) =>
        say`  ${id}  ${step.status}  ${JSON.stringify('output' in step ? step.output : undefined)}`,
    ),
    ...(found.run.snapshot.error ? [say`error ${JSON.stringify(found.run.snapshot.error)}`] : []),
    ...(found.run.snapshot.result === undefined
      ? []
      : [block(JSON.stringify(found.run.snapshot.result, null, 2))]),
  ])
  return exit.done
}

export const watch: Handler = async (context) => {
  const handle = (await context.client()).runs.handle(context.input.argument('RUN'))
  return followRun(context, handle, { stops: false, through: context.input.has('through') })
}

/** An approval is a person's to give; every other answer may come from the key. */
export const resume: Handler = async (context) => {
  const { input, out, signal } = context
  const runId = input.argument('RUN')
  const [approve, deny, answer, data] = [
    input.has('approve'),
    input.has('deny'),
    input.text('answer'),
    input.text('data'),
  ]
  const given = [approve, deny, answer !== undefined, data !== undefined].filter(Boolean).length
  if (given !== 1)
    throw usage(
      'Give one of --approve, --deny, --answer and --data.',
      `guild wf resume ${runId} --answer "…"`,
    )
  const note = input.text('note')
  const resumeData =
    data === undefined
      ? answer === undefined
        ? { approved: approve, ...(note && { note }) }
        : { answer }
      : parsedData(data)
  if (approve) requirePresence(context, `guild wf resume ${runId} --deny`)
  const client =
    approve || deny ? await context.person(approve ? 'now' : 'kept is enough') : await context.client()
  const stepId = input.text('step')
  const state = await client.runs.resume(runId, { resumeData, ...(stepId && { stepId }) }, { signal })
  out.document(state, () => [])
  out.done(say`answered, ${state.status}. Watch: guild wf watch ${runId}`)
  return exit.done
}

function parsedData(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw usage('--data is JSON.', 'guild wf resume RUN --data \'{"answer":"yes"}\'')
  }
}

export const cancel: Handler = async ({ input, out, client, signal }) => {
  const answer = await (await client()).runs.cancel(input.argument('RUN'), { signal })
  out.document(answer, () => [])
  out.done(say`${answer.runId} is canceled.`)
  return exit.done
}

export const rerun: Handler = async (context) => {
  const { input, out, signal } = context
  const inputs = await inputsOf(context)
  const fromStep = input.text('from')
  const body = { ...(fromStep && { fromStep }), ...(Object.keys(inputs).length > 0 && { inputs }) }
  const handle = await (await context.client()).runs.rerun(input.argument('RUN'), body, { signal })
  if (input.has('watch')) return followRun(context, handle, { stops: true, through: input.has('through') })
  out.document({ runId: handle.id }, () => [say`${handle.id}`])
  out.talk(say`Watch: guild wf watch ${handle.id}`)
  return exit.done
}

export const queue: Handler = async ({ out, client, signal }) => {
  const { queued } = await (await client()).runs.queue({ signal })
  out.list(
    { items: queued },
    [
      { head: 'RUN', cell: ({ runId }) => runId },
      { head: 'WORKFLOW', cell: ({ workflowSlug }) => workflowSlug, wide: true },
      { head: 'STATE', cell: ({ status }) => status },
      { head: 'ENQUEUED', cell: ({ enqueuedAt }, forPeople) => (forPeople ? ago(enqueuedAt) : enqueuedAt) },
    ],
    say`Nothing is queued.`,
  )
  return exit.done
}
