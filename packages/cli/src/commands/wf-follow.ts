import type { RunHandle, RunState } from '@guildhall/sdk'
import type { Context } from '../context.ts'
import { type ExitCode, exit } from '../exit-codes.ts'
import { dim, say } from '../output/safe-text.ts'

const secondInterruptMs = 2000

const exits: Readonly<Record<string, ExitCode>> = {
  success: exit.done,
  failed: exit.failed,
  canceled: exit.stopped,
  suspended: exit.waits,
}

/** Shows a run until it settles, or until it has finished; its exit code says how. */
export async function followRun(
  context: Context,
  handle: RunHandle,
  { stops, through }: { stops: boolean; through: boolean },
): Promise<ExitCode> {
  const { out, signal, input } = context
  const release = stops ? onInterrupt(context, handle) : () => {}
  out.talk(say`${out.sign('▸', '>')} ${handle.id}`)
  let last: RunState | undefined
  try {
    for await (const state of handle.watch({ signal, until: through ? 'finished' : 'settled' })) {
      last = state
      const { changed, ...wire } = state
      if (out.isJson) out.event(wire)
      for (const { stepId, status } of changed) showStep(context, stepId, status)
      if (state.status === 'suspended') showQuestions(context, handle.id, state)
    }
  } finally {
    release()
  }
  const status = last?.status ?? 'unknown'
  const exitCode = exits[status] ?? exit.failed
  const { result, error, suspendedPaths } = last?.snapshot ?? {}
  const waits = Object.keys(suspendedPaths ?? {})
  const final = { type: 'guild.result', runId: handle.id, status, result, error, suspended: waits, exitCode }
  if (out.isJson) out.event(final)
  else out.result(final, result === undefined ? '' : JSON.stringify(result))
  if (exitCode === exit.done) out.done(say`success${out.forPeople ? ` · ${JSON.stringify(result)}` : ''}`)
  else if (exitCode !== exit.waits)
    out.talk(say`${out.sign('✗', 'error:')} ${status} ${error ? JSON.stringify(error) : ''}`)
  return input.has('no-exit-status') ? exit.done : exitCode
}

function showStep({ out }: Context, stepId: string, status: string): void {
  const signs: Readonly<Record<string, string>> = { success: '✓', failed: '✗', suspended: '⏸', running: '◌' }
  out.talk(say`  ${out.sign(signs[status] ?? '·', status)} ${stepId}${out.unicode ? '' : ` ${status}`}`)
}

/** What a person has to answer: words of the workflow's, so they are claims. */
function showQuestions({ out }: Context, runId: string, { snapshot }: RunState): void {
  for (const stepId of Object.keys(snapshot.suspendedPaths)) {
    const step = snapshot.context[stepId] as { suspendPayload?: unknown } | undefined
    const payload = step?.suspendPayload
    const kind = (payload as { kind?: string } | undefined)?.kind
    const flag = kind === 'approval' ? '--approve' : '--answer "…"'
    out.talk(say`  ${stepId} asks: ${dim(JSON.stringify(payload ?? null))}`)
    out.talk(say`  guild wf resume ${runId} --step ${stepId} ${flag}`)
  }
}

function onInterrupt({ out, signals }: Context, handle: RunHandle): () => void {
  let pressed = 0
  return signals.onInterrupt(() => {
    pressed++
    if (pressed === 1) {
      out.talk(say`${handle.id} goes on. ^C again stops it. Watch: guild wf watch ${handle.id}`)
      setTimeout(() => {
        if (pressed === 1) signals.end(exit.interrupted, `${handle.id} goes on.`)
      }, secondInterruptMs)
    } else if (pressed === 2) {
      handle.cancel().catch((error: unknown) => {
        signals.end(
          exit.failed,
          `${handle.id} could not be stopped: ${error instanceof Error ? error.message : error}`,
        )
      })
    } else signals.end(exit.interrupted, `${handle.id} was told to stop; its end was not waited for.`)
  })
}
