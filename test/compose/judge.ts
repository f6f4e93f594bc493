import { isDeepStrictEqual } from 'node:util'
import { type RequestName, requests } from '../../stack/model-endpoint/compose/requests.ts'
import type { Caller, Person } from '../support/caller.ts'
import { until } from '../support/processes.ts'
import { endStates, type RunAnswer, type Runs, runsOf } from '../support/workflows.ts'
import { expectations, type Trial } from './expectations.ts'
import { readEffects } from './tools.ts'

export interface Judge {
  readonly app: Caller
  readonly effectsFile: string
  /** How long a model may take for all of a request, and a run for its steps. */
  readonly patienceMs: number
}

interface ChatAnswer {
  readonly threadId: string
  readonly status: string
  readonly message: string | null
  readonly workflowRuns?: readonly string[]
}

/** Asks for it as a person would, tries what came of it, and gives all that is wrong with that. */
export async function judgeRequest(judge: Judge, name: RequestName): Promise<string[]> {
  const { app, patienceMs } = judge
  const person = await app.newPerson()
  const call = (method: string, path: string, body?: object) =>
    app.call(method, `/api/v1${path}`, { token: person.token, ...(body && { body }) })
  await call('POST', '/skills/csv-report/install', {})
  const sent = { message: requests[name], waitSeconds: Math.min(300, Math.ceil(patienceMs / 1000)) }
  const answer = await call('POST', '/chat/assistant', sent)
  const said = answer.body as ChatAnswer
  if (said.status !== 'completed') return [`the agent did not end: ${answer.text}`]
  const expected = expectations[name]
  const { body } = await call('GET', '/workflows/definitions')
  const installed = (body.workflows as { slug: string }[]).map(({ slug }) => slug)
  if ('declined' in expected) return judgeRefusal(expected.declined, installed, said)
  if (!installed.includes(name)) return [`nothing was installed: ${said.message}`]
  const runs = runsOf(app, person)
  const problems: string[] = []
  for (const [index, trial] of expected.trials.entries()) {
    const isLaunched = index === 0 && expected.launched === true
    const runId = isLaunched ? said.workflowRuns?.[0] : await runs.start(name, trial.inputs)
    if (runId === undefined) problems.push('nothing was launched')
    else problems.push(...(await judgeRun(judge, runs, runId, trial)))
    if (isLaunched) problems.push(...(await judgeWord(judge, person, said)))
  }
  return problems
}

function judgeRefusal(words: readonly string[], installed: readonly string[], said: ChatAnswer): string[] {
  const message = (said.message ?? '').toLowerCase()
  return [
    ...installed.map((slug) => `${slug} was installed, though it cannot be done`),
    ...(words.some((word) => message.includes(word)) ? [] : [`it was not said why not: ${said.message}`]),
  ]
}

async function judgeRun(judge: Judge, runs: Runs, runId: string, trial: Trial): Promise<string[]> {
  const begun = performance.now()
  const problems: string[] = []
  const stops = ['suspended', ...endStates]
  for (const { words, answer } of trial.asked ?? []) {
    const { run } = await runs.reaches(runId, stops, judge.patienceMs)
    const [question] = questionsOf(run)
    if (!question) return [`nobody was asked, and the run is ${run.status}`]
    const text = JSON.stringify(question.asks)
    for (const word of words)
      if (!text.includes(word)) problems.push(`"${word}" is not in the question ${text}`)
    const resumed = await runs.resume(runId, { stepId: question.stepId, resumeData: answer })
    if (resumed.status !== 200) return [...problems, `the answer was refused: ${resumed.text}`]
  }
  const { run } = await runs.reaches(runId, stops, judge.patienceMs)
  const took = performance.now() - begun
  const { result, error } = run.snapshot
  const ended = `${run.status} with ${JSON.stringify(error ?? result)}`
  if (run.status !== (trial.fails === undefined ? 'success' : 'failed'))
    return [...problems, `it is ${ended}`]
  if (trial.fails !== undefined && !JSON.stringify(error).includes(trial.fails))
    problems.push(`it is ${ended}`)
  for (const [key, wanted] of Object.entries(trial.gives ?? {})) {
    const given = (result as Record<string, unknown> | null)?.[key]
    const fits = typeof wanted === 'function' ? wanted(given) : isDeepStrictEqual(given, wanted)
    if (!fits) problems.push(`${key} is ${JSON.stringify(given)}`)
  }
  if (trial.effects) {
    const effects = readEffects(judge.effectsFile, runId).sort()
    if (!isDeepStrictEqual(effects, trial.effects.toSorted()))
      problems.push(`it did ${JSON.stringify(effects)}`)
  }
  if (took < (trial.atLeastMs ?? 0)) problems.push(`it took only ${took} ms`)
  return problems
}

function questionsOf({ snapshot }: RunAnswer['run']): { stepId: string; asks: unknown }[] {
  return Object.entries(snapshot.context).flatMap(([stepId, step]) => {
    const { status, suspendPayload } = step as { status?: string; suspendPayload?: unknown }
    return status === 'suspended' ? [{ stepId, asks: suspendPayload }] : []
  })
}

/** The end of what was launched in a thread is told there. */
async function judgeWord({ app }: Judge, { token }: Person, said: ChatAnswer): Promise<string[]> {
  const told = async () => {
    const { body } = await app.call('GET', `/api/v1/threads/${said.threadId}/notifications`, { token })
    return (body.items as { kind: string; payload: { runId: string } }[]).some(
      ({ kind, payload }) => kind === 'workflow.completed' && payload.runId === said.workflowRuns?.[0],
    )
  }
  return until(told, 10_000).then(
    () => [],
    () => ['the thread was not told of the end'],
  )
}
