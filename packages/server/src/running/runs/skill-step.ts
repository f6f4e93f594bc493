import { toDs } from '@guildhall/contract'
import { findSkill } from '#library/skills/skills.ts'
import type { RunCaller, SkillBegun } from '#machinery/engine/drive.ts'
import { accessEnded, prepareToolInput, type StepCall, type StepOutcome } from '#machinery/graph/graph.ts'
import { executeSkillTool } from '#machinery/tools/tools.ts'
import { ApiError } from '#operations/errors.ts'
import type { Tx } from '#platform/database.ts'
import { isUnstorable } from '#platform/database-errors.ts'
import { beginStepExecution, readStepExecution } from '#running/executions/executions.ts'
import { failed, succeeded, unstorable } from './perform-step.ts'
import type { RunParts } from './run-parts.ts'
import * as store from './store.ts'

const inputBytes = 102_400

/** Starts the skill of a step, or finds what an earlier try of the same attempt began. */
export async function beginSkill(
  parts: RunParts,
  caller: RunCaller,
  call: StepCall,
  awakeableId: string,
): Promise<SkillBegun> {
  const given = readInput(parts, call)
  if ('outcome' in given) return given
  const skill = await findSkill(parts.database.db, caller.workspaceId, given.slug)
  if (!skill) return { outcome: skillFailed('NOT_FOUND', `The skill "${given.slug}" is not installed.`) }
  try {
    const executionId = await beginStepExecution(parts, {
      workspaceId: caller.workspaceId,
      userId: caller.userId,
      skill,
      input: given.input,
      step: { runId: call.runId, key: call.idempotencyKey, awakeableId },
      admit: (tx) => admitStep(tx, call.runId),
    })
    return executionId === undefined ? { outcome: { kind: 'canceled', at: Date.now() } } : { executionId }
  } catch (error) {
    if (error instanceof AccessEnded) return { outcome: failed(accessEnded) }
    if (isUnstorable(error)) return { outcome: failed(unstorable) }
    // Somebody else has the slot again and again, or ours is a fault: the engine tries once more.
    if (!(error instanceof ApiError) || error.code === 'EXECUTION_RUNNING') throw error
    return { outcome: skillFailed(error.code, error.message) }
  }
}

/** Whoever launched the run may not start anything any more. */
export class AccessEnded extends Error {}

/** Through what a run was launched, held as it is while something is started for it. Undefined once it has ended. */
export async function admitStep(tx: Tx, runId: string) {
  const run = await store.lockRun(tx, runId)
  if (run?.status !== 'running') return undefined
  if (!run.may_act) throw new AccessEnded()
  const { api_key_id: apiKeyId, oauth_grant_id: oauthGrantId, allowed_once: allowedOnce } = run
  const { authority, agent_slug: agentSlug } = run
  return { apiKeyId, oauthGrantId, allowedOnce, authority: authority ?? [], agentSlug }
}

function readInput(
  parts: RunParts,
  call: StepCall,
): { slug: string; input: string } | { outcome: StepOutcome } {
  const invalid = (message: string) => ({ outcome: failed({ code: 'STEP_INPUT_INVALID', message }) })
  const { input, issues } = prepareToolInput(parts.toolbox.inputSchemaOf(executeSkillTool) ?? {}, call.input)
  const [first] = issues
  if (first) return invalid(`The input${first.path === '' ? '' : ` at ${first.path}`} ${first.message}.`)
  const { slug, input: given } = input as { slug: string; input: unknown }
  const text = typeof given === 'string' ? given : JSON.stringify(given)
  if (Buffer.byteLength(text) > inputBytes) return invalid(`The input is over ${inputBytes} bytes.`)
  return { slug, input: text }
}

/** What came of the skill, once it has ended. */
export async function collectSkill(parts: RunParts, executionId: number): Promise<StepOutcome> {
  const read = await readStepExecution(parts.database, executionId)
  if (!read) return skillFailed('NOT_FOUND', 'The execution is gone.')
  const { row, blocks } = read
  const { execution_id, skill_slug, skill_name, status, stop_reason, error_code, cost_milli_ds } = row
  if (status === 'completed') {
    const text = blocks.flatMap((block) => (block.type === 'text' ? [String(block['text'])] : [])).join('\n')
    const made = { text, outputBlocks: blocks, cost: toDs(cost_milli_ds) }
    return succeeded({ executionId: execution_id, slug: skill_slug, skillName: skill_name, status, ...made })
  }
  if (error_code === accessEnded.code) return failed(accessEnded)
  return failed({
    code: 'SKILL_FAILED',
    message: `The skill "${skill_slug}" ended without a result (${error_code ?? stop_reason}).`,
    details: {
      executionId: execution_id,
      status,
      stopReason: stop_reason,
      reason: error_code ?? stop_reason,
    },
  })
}

function skillFailed(reason: string, message: string): StepOutcome {
  return failed({ code: 'SKILL_FAILED', message, details: { status: 'failed', reason } })
}
