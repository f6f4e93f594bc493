// Imported before a process's own code: puts something into it as it is read, so that the code itself need not know of
// tests. A mistake, which a check must find; or places at which the process kills itself when it is told to.
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { registerHooks } from 'node:module'

/** By file: what stands there, and what is put in its place. */
type Change = Readonly<Record<string, readonly (readonly [string, string])[]>>

const crash = (point: string) => `globalThis.crashAt('${point}')\n`

export const changes: Readonly<Record<string, Change>> = {
  // Looks whether a run is active without holding the thread, and then starts one.
  'check-then-start': {
    '/running/threads/store.ts': [
      [
        `.where('thread_id', '=', threadId)
    .forNoKeyUpdate()`,
        `.where('thread_id', '=', threadId)`,
      ],
    ],
  },
  // Whoever once had a run goes on as it, and writes.
  'no-fence': {
    '/running/threads/log-conversation.ts': [
      ['change.thread.active_attempt === attempt && change.thread.active_run === run.id', 'true'],
      ['if (run.steps === ordinal + 1) return run', ''],
      [`if (run.steps !== ordinal) throw new Fenced('another attempt has answered this')`, ''],
    ],
    '/running/threads/watch.ts': [['if (attempts.get(threadRowId) !== attempt)', 'if (false)']],
    '/running/threads/runner.ts': [['AbortSignal.any([signal, this.#cut.signal])', 'this.#cut.signal']],
  },
  // Between any two things that a step of a chat does.
  'crash-points': {
    '/machinery/loop/loop.ts': [
      ['const replied = await nextReply(', `${crash('before the model')}const replied = await nextReply(`],
    ],
    '/running/threads/runner.ts': [
      [
        "if (event.type === 'text') deltas.write(event.delta)",
        `if (event.type === 'text') ${crash('in the model')}if (event.type === 'text') deltas.write(event.delta)`,
      ],
      [
        'if (outcome?.wait) return await conversation.wait(outcome.wait)',
        `if (outcome?.wait) { await conversation.wait(outcome.wait); ${crash('after the wait')} return }`,
      ],
      [
        'const watched = this.#watch.add(held)',
        `if (held.run.segment > 0) ${crash('after waking')}const watched = this.#watch.add(held)`,
      ],
    ],
    '/running/threads/log-conversation.ts': [
      [
        'async addReply(reply: ModelReply): Promise<void> {',
        `async addReply(reply: ModelReply): Promise<void> {\n${crash('after the model')}`,
      ],
      [
        "this.#isOver = this.#run.status !== 'working'",
        `globalThis.crashAt(this.#run.status === 'working' ? 'after the reply' : 'after the end')
         this.#isOver = this.#run.status !== 'working'`,
      ],
      [
        'return updateResult(tx, run.id, this.#caused.get(toolCallId) ?? {})\n    })',
        `return updateResult(tx, run.id, this.#caused.get(toolCallId) ?? {})\n    })\n${crash('after the result')}`,
      ],
    ],
    '/running/threads/tool-run.ts': [
      [
        'const used = await toolset.use(call)',
        `${crash('before the tool')}const used = await toolset.use(call)
         if (!('pause' in used)) ${crash('after the tool')}`,
      ],
    ],
    '/running/threads/lifecycle.ts': [
      [
        'const ended = await store.updateRunEnded(',
        `${crash('before the end')}const ended = await store.updateRunEnded(`,
      ],
      [
        'const waiting = await updateRunWaiting(',
        `${crash('before the wait')}const waiting = await updateRunWaiting(`,
      ],
    ],
  },
  // Between what an agent of a workflow does and what the workflow is told of it.
  'step-crashes': {
    '/running/runs/agent-step.ts': [
      [
        'return agentRunId === undefined ?',
        `${crash('after the beginning')}return agentRunId === undefined ?`,
      ],
      [
        'const answer = await parts.agentRuns.read(agentRunId)',
        `${crash('before the collecting')}const answer = await parts.agentRuns.read(agentRunId)
         ${crash('after the collecting')}`,
      ],
    ],
    '/running/threads/changes.ts': [
      [
        'void tellStep(parts, run)',
        `if (run.awakeable_id !== null) ${crash('before the word')}void tellStep(parts, run)`,
      ],
    ],
  },
}

export const stepCrashPoints = [
  'after the beginning',
  'before the word',
  'before the collecting',
  'after the collecting',
] as const

export const crashPoints: readonly string[] = Object.values(changes['crash-points'] ?? {})
  .flat()
  .flatMap(([, source]) =>
    [...source.matchAll(/(?:crashAt\(|\? |: )'([a-z ]+)'/g)].map(([, point]) => point ?? ''),
  )
  .filter((point) => point.includes(' the ') || point === 'after waking')

/** The file names a place, and how often it is passed by before that. Whoever takes the file away is killed. */
function crashAt(point: string): void {
  const file = process.env['CRASH_FILE']
  if (file === undefined) return
  try {
    const [armed, left] = readFileSync(file, 'utf8').split('|')
    if (armed !== point) return
    if (Number(left) > 0) {
      writeFileSync(file, `${armed}|${Number(left) - 1}`)
      return
    }
    rmSync(file)
  } catch {
    return
  }
  process.kill(process.pid, 'SIGKILL')
}

const planted = process.env['PLANTED']
const change = planted === undefined ? undefined : changes[planted]
if (change) {
  Object.assign(globalThis, { crashAt })
  registerHooks({
    load: (url, context, next) => {
      const loaded = next(url, context)
      const [file, instead] = Object.entries(change).find(([name]) => url.endsWith(name)) ?? []
      if (!instead || loaded.source === undefined) return loaded
      let source = String(loaded.source)
      for (const [before, after] of instead) {
        if (!source.includes(before)) throw new Error(`${file} has no place for ${planted}`)
        source = source.replace(before, () => after)
      }
      return { ...loaded, source }
    },
  })
}
