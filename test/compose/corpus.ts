import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { spawnStack } from '../../stack/client.ts'
import { type RequestName, requests } from '../../stack/model-endpoint/compose/requests.ts'
import { repositoryRoot } from '../../stack/spawn.ts'
import { createCaller } from '../support/caller.ts'
import { judgeRequest } from './judge.ts'

export interface Verdict {
  readonly name: RequestName
  readonly problems: readonly string[]
  readonly seconds: number
}

export interface CorpusOptions {
  readonly names: readonly RequestName[]
  /** Whether the model is asked that MODELS names here, and not the stand-in of the stack. */
  readonly real?: boolean
  readonly patienceMs: number
  readonly atOnce: number
  onVerdict?(verdict: Verdict): void
}

export const requestNames = Object.keys(requests) as RequestName[]

/** Asks for every workflow on a deployment of its own, launches what was made of it, and judges what that does. */
export async function runCorpus(options: CorpusOptions): Promise<Verdict[]> {
  const { names, real = false, patienceMs, atOnce } = options
  const dir = mkdtempSync(join(tmpdir(), 'compose-'))
  const effectsFile = join(dir, 'effects')
  writeFileSync(effectsFile, '')
  const env = {
    DEV_TOOLS: '0',
    TOOLS_MODULE: join(repositoryRoot, 'test/compose/tools.ts'),
    EFFECTS_FILE: effectsFile,
  }
  const settings = Object.entries(env).flatMap(([name, value]) => ['--env', `${name}=${value}`])
  const stack = await spawnStack(['--limits', 'off', ...settings, ...(real ? ['--env', 'MODELS'] : [])])
  const judge = { app: createCaller(stack.baseUrl), effectsFile, patienceMs }
  const left = [...names]
  const verdicts: Verdict[] = []
  const work = async () => {
    for (let name = left.shift(); name !== undefined; name = left.shift()) {
      const begun = performance.now()
      const problems = await judgeRequest(judge, name).catch((error: Error) => [error.message])
      const verdict = { name, problems, seconds: (performance.now() - begun) / 1000 }
      verdicts.push(verdict)
      options.onVerdict?.(verdict)
    }
  }
  try {
    await Promise.all(Array.from({ length: atOnce }, work))
  } finally {
    await stack.stop()
    rmSync(dir, { recursive: true })
  }
  return verdicts
}
