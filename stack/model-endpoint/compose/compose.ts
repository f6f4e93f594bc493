import type { ModelRequest } from '../protocol.ts'
import type { Step } from '../step.ts'
import type { Draft } from './draft.ts'
import { drafts } from './drafts.ts'
import { readGuide, reasonAgainst, untaught } from './guide.ts'
import { type Issue, mend } from './mend.ts'
import { requestIn } from './requests.ts'

const mostRounds = 6

/**
 * Stands in for a model that is asked for a workflow. It has a draft in mind, but of the language it knows only what the
 * guide, the issues and their hints tell it: it reads the guide, has its draft checked, mends what it is told is wrong, and
 * installs what is found sound. Undefined when nothing like that was asked.
 */
export function composeStep({ turns, tools }: ModelRequest): Step | undefined {
  const asked = turns.findLastIndex(({ role }) => role === 'user')
  const turn = turns[asked]
  const name = turn?.role === 'user' && tools.includes('workflow_guide') ? requestIn(turn.text) : undefined
  if (name === undefined) return undefined
  const outputs = turns.slice(asked + 1).flatMap((given) => (given.role === 'tool' ? given.outputs : []))
  return nextOf(name, drafts[name], outputs.map(unmarked))
}

/** Material stands between two marks. */
function unmarked(output: string): string {
  const lines = output.split('\n')
  return lines[0]?.startsWith('<data-') ? lines.slice(1, -1).join('\n') : output
}

/** All that was done is told by what it gave, so every reply is decided anew from the conversation. */
function nextOf(slug: string, draft: Draft, outputs: readonly string[]): Step {
  const [guideText, ...answers] = outputs
  if (guideText === undefined) return use('workflow_guide', {})
  const guide = readGuide(guideText)
  const reason = draft.unless === undefined ? undefined : reasonAgainst(guide, draft.unless)
  if (reason !== undefined) return { say: `That cannot be done with a workflow: ${reason.trim()}.` }

  let { definition } = draft
  let hints = ''
  for (let round = 0; round < mostRounds; round++) {
    const answer = answers[round]
    if (answer === undefined) return use('validate_workflow', { definition })
    const checked = read<{ valid: boolean; issues: Issue[] }>(answer)
    if (!checked) return { say: `I could not have it checked: ${answer}` }
    if (checked.valid) {
      const missing = untaught(definition, guide, hints)
      if (missing.length > 0) return { say: `Nobody told me how to write ${missing.join(', ')}.` }
      return goOn(slug, draft, definition, answers.slice(round + 1))
    }
    const mended = mend(definition, checked.issues, guide)
    if (mended.left.length > 0)
      return {
        say: `I do not know what to do about ${mended.left.map(({ path, hint }) => `${path}: ${hint}`).join(' ')}`,
      }
    definition = mended.definition
    hints += checked.issues.map(({ hint }) => hint).join('\n')
  }
  return { say: `I tried ${mostRounds} times and it is still not sound.` }
}

function goOn(slug: string, { launchWith }: Draft, definition: object, answers: readonly string[]): Step {
  const [installed, launched] = answers
  if (installed === undefined) return use('install_workflow', { slug, definition })
  if (!read(installed)) return { say: `It was not installed: ${installed}` }
  if (launchWith === undefined) return { say: `The workflow ${slug} is installed.` }
  if (launched === undefined) return use('launch_workflow', { slug, inputs: launchWith })
  const run = read<{ runId: string }>(launched)
  return { say: run ? `The workflow ${slug} runs as ${run.runId}.` : `It was not launched: ${launched}` }
}

function use(name: string, input: object): Step {
  return { tools: [{ name, input }] }
}

function read<T = unknown>(json: string): T | undefined {
  try {
    return JSON.parse(json) as T
  } catch {
    return undefined
  }
}
