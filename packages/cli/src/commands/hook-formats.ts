import { randomBytes } from 'node:crypto'
import { type ExitCode, exit } from '../exit-codes.ts'

export type Decision =
  | { kind: 'allow'; reason: string; edited?: unknown }
  | { kind: 'deny' | 'ask'; reason: string }

/** What an agent is about to do, and how it wants to be answered. */
export interface Call {
  question: string
  action: { summary: string; tool: string; args: unknown; target: string }
  /** Whether the agent can go on with these in place of its own arguments. */
  takes: (edited: unknown) => boolean
  answer: (decision: Decision) => { document?: unknown; exitCode: ExitCode }
}

/** Undefined: this is not what it claims to be. */
export type Reader = (text: string) => Call | undefined

const mostQuestion = 500
const mostSummary = 500
const mostTool = 200
const mostTarget = 500

/**
 * Claude Code's PreToolUse and PermissionRequest hooks. The tool's input goes into the ask as it came; the answer is
 * the program's own JSON, with exit code 0, which is how it takes decisions.
 */
export const readClaudeCode: Reader = (text) => {
  const input = objectOf(text)
  const { hook_event_name: event, tool_name: tool, tool_input: args, cwd, tool_use_id: id } = input ?? {}
  if (
    (event !== 'PreToolUse' && event !== 'PermissionRequest') ||
    typeof tool !== 'string' ||
    !isObject(args)
  ) {
    return undefined
  }
  const call = callOf({ tool, args, cwd, id })
  return {
    ...call,
    takes: isObject,
    answer: (decision) => ({
      exitCode: exit.done,
      document: event === 'PreToolUse' ? preToolUse(decision) : permissionRequest(decision),
    }),
  }
}

function preToolUse(decision: Decision) {
  return {
    hookSpecificOutput: {
      hookEventName: 'PreToolUse',
      permissionDecision: decision.kind,
      permissionDecisionReason: decision.reason,
      ...(decision.kind === 'allow' && decision.edited !== undefined && { updatedInput: decision.edited }),
    },
  }
}

/** Silence leaves the dialog to the person at the terminal. */
function permissionRequest(decision: Decision) {
  if (decision.kind === 'ask') return undefined
  return {
    hookSpecificOutput: {
      hookEventName: 'PermissionRequest',
      decision:
        decision.kind === 'allow'
          ? { behavior: 'allow', ...(decision.edited !== undefined && { updatedInput: decision.edited }) }
          : { behavior: 'deny', message: decision.reason },
    },
  }
}

/**
 * For any agent that can run a command: `{"tool", "args", "summary"?, "cwd"?}` on stdin. The answer is
 * `{"decision", "reason", "args"?}`; exit code 0 and only 0 means yes.
 */
export const readGeneric: Reader = (text) => {
  const input = objectOf(text)
  const { tool, args = {}, summary, cwd } = input ?? {}
  if (typeof tool !== 'string' || tool === '') return undefined
  const call = callOf({ tool, args, cwd, summary })
  return {
    ...call,
    takes: () => true,
    answer: ({ kind, reason, ...more }) => ({
      exitCode: exitCodes[kind],
      document: {
        decision: kind,
        reason,
        ...('edited' in more && more.edited !== undefined && { args: more.edited }),
      },
    }),
  }
}

const exitCodes: Readonly<Record<Decision['kind'], ExitCode>> = {
  allow: exit.done,
  deny: exit.notAllowed,
  ask: exit.waits,
}

interface Given {
  tool: string
  args: unknown
  cwd: unknown
  id?: unknown
  summary?: unknown
}

/**
 * Each call is named in its ask. Equal asks that wait are one to the server: without the name a single yes would let
 * through as many equal calls as run at that time.
 */
function callOf({ tool, args, cwd, id, summary }: Given): Pick<Call, 'question' | 'action'> {
  const shown = typeof summary === 'string' ? summary : summaryOf(args)
  const place = typeof cwd === 'string' ? ` in ${cwd}` : ''
  const named = typeof id === 'string' && /^[\w-]{1,100}$/.test(id) ? id : randomBytes(6).toString('hex')
  const name = `call ${named}`
  return {
    question: shortened(`${tool}${place}: ${shown}`, mostQuestion),
    action: {
      summary: shortened(shown, mostSummary),
      tool: shortened(tool, mostTool),
      args,
      target: typeof cwd === 'string' ? `${shortened(cwd, mostTarget - name.length - 3)} (${name})` : name,
    },
  }
}

/** What says most about a call in one line; the whole stands beside it, verbatim. */
function summaryOf(args: unknown): string {
  if (!isObject(args)) return JSON.stringify(args) ?? 'no arguments'
  for (const name of ['command', 'file_path', 'notebook_path', 'url', 'path', 'query', 'prompt']) {
    const value = args[name]
    if (typeof value === 'string' && value.trim() !== '') return value
  }
  return JSON.stringify(args)
}

function shortened(text: string, most: number): string {
  const line = text.trim() || '–'
  return line.length <= most ? line : `${line.slice(0, most - 1)}…`
}

function objectOf(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
