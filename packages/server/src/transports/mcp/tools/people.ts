import { randomUUID } from 'node:crypto'
import { longPollMaxSeconds, type Me } from '@guildhall/contract'
import { decisionWords } from '../decision-words.ts'
import type { Exchange } from '../exchange.ts'
import { type CallToolResult, isRecord, type RecordOf } from '../shapes.ts'
import { defaultWaitSeconds, refusedTool, said, type ToolHandler } from './tool.ts'

export const whoami: ToolHandler<'whoami'> = async (_args, { exchange }) => {
  const { principal } = exchange.caller
  if (principal.kind === 'key') return said((await exchange.caller.perform('getAgentSelf')) as RecordOf)
  const me = (await exchange.caller.perform('getMe')) as Me
  const scopes = me.scopes.map((scope) => ({ scope, mode: 'persistent', expires_at: null }))
  return said({ ...me, scopes, activated: true })
}

/** No agent can have it as its slug. */
const noAgent = '-'

export const messageAgent: ToolHandler<'message_agent'> = async (args, use) => {
  const { caller } = use.exchange
  const { thread_id: threadId } = args
  const key = args.idempotency_key ?? use.repeatKey ?? `mcp:${randomUUID()}`
  // What is not there is refused by the operation too, after the right: without it nobody learns of threads.
  const agentId = args.agent ?? (await use.findAddressee(caller.principal.workspaceId, threadId)) ?? noAgent
  const waitSeconds = args.wait_seconds ?? defaultWaitSeconds
  const chat = () =>
    caller.perform('chat', {
      params: { agentId },
      body: { message: args.message, ...(threadId !== undefined && { threadId }), waitSeconds },
      idempotencyKey: key,
    })
  const answer = await (waitSeconds > 0 ? use.exchange.whileWanted(chat) : chat())
  use.exchange.signal.throwIfAborted()
  const run = answer as { threadId: string; runId: string; status: string; message: string | null }
  const isOver = run.status === 'completed' || run.status === 'failed'
  const value = {
    ...(answer as RecordOf),
    ...(!isOver && {
      next: `It works on. Call message_agent with exactly the same arguments and idempotency_key "${key}" to wait on.`,
    }),
  }
  return { ...said(value), ...(run.status === 'failed' && { isError: true }) }
}

export const appendTrace: ToolHandler<'append_trace'> = async (args, { exchange, repeatKey }) => {
  const answer = await exchange.caller.perform('appendTraceEvents', {
    params: { id: args.trace_id },
    body: { events: args.events },
    idempotencyKey: args.idempotency_key ?? repeatKey,
  })
  return said(answer as RecordOf)
}

export const requestPermission: ToolHandler<'request_permission'> = async (args, use) => {
  const { exchange, appUrl, findRecentDenial } = use
  const { caller } = exchange
  if (caller.principal.kind !== 'key')
    return refusedTool('An app asks for scopes at the authorization server; call the tool that needs them.')
  let { request_id: requestId } = args
  if (requestId === undefined) {
    const { scope, reason, mode } = args
    if (scope === undefined || reason === undefined)
      return refusedTool('Send scope and reason to ask, or request_id to wait for what was asked before.')
    // As the bridge: whoever said no is not asked again at once.
    const denial = await findRecentDenial(caller.principal.credentialId, scope)
    if (denial)
      return refusedTool(decisionWords.deniedBefore(scope, denial.reason), { code: 'FORBIDDEN', scope })
    const answer = await caller.perform('requestPermission', {
      body: { scope, reason, ...(mode !== undefined && { mode }) },
    })
    const asked = answer as { status: string; request_id?: string }
    if (asked.request_id === undefined) return said({ status: asked.status })
    requestId = asked.request_id
  }
  const id = requestId
  const decided = await waitFor(exchange, args.wait_seconds, (wait) =>
    caller.perform('pollPermission', { params: { requestId: id }, query: { wait } }),
  )
  const link = decided['status'] === 'pending' ? { approval_url: `${appUrl}/approvals/${id}` } : {}
  return said({ ...decided, request_id: id, ...link })
}

/** How long a permission prompt is waited for that cannot come again for its answer. */
const promptSeconds = 280

/**
 * A question about an act of the agent's own. Called with `tool_name` and `input` it is a permission prompt, as coding
 * agents call one, and answers as they want it: allow with the input as the person left it, or deny with the reason.
 */
export const askPerson: ToolHandler<'ask_person'> = async (args, { exchange, repeatKey }) => {
  const { caller } = exchange
  if (caller.principal.kind !== 'key')
    return refusedTool('Only an API key can ask; an app has nobody in particular.')
  const isPrompt = args.tool_name !== undefined
  if (isPrompt && args.ask_id !== undefined)
    return refusedTool(
      'Send tool_name to ask or ask_id to wait; what was said to one act is not for another.',
    )
  const callId = args.tool_use_id ?? repeatKey ?? randomUUID()
  const askId = args.ask_id ?? (await ask(exchange, args, callId))
  if (askId === undefined) return refusedTool('Send a question, or tool_name and input, or ask_id.')
  await exchange.progress(0, 'Waiting for you in Guildhall')
  const wait = args.wait_seconds ?? (isPrompt ? promptSeconds : undefined)
  const answer = await waitFor(exchange, wait, (seconds) =>
    caller.perform('pollAsk', { params: { askId }, query: { wait: seconds } }),
  )
  if (!isPrompt) return said({ ...chosen(args.choices, answer), ask_id: askId })
  return promptAnswer(exchange, args.input ?? {}, askId, answer)
}

async function ask(
  { caller }: Exchange,
  args: { question?: string; choices?: string[]; tool_name?: string; input?: RecordOf },
  callId: string,
): Promise<string | undefined> {
  const { question, choices, tool_name: tool, input } = args
  if (question === undefined && tool === undefined) return undefined
  // Equal asks that wait are one: the id of the call tells them apart, so that a yes lets one call through.
  const target = `This call alone: ${callId}`
  const action = tool !== undefined && { summary: `Use ${tool}`, tool, args: input ?? {}, target }
  const offered = tool === undefined ? choices?.map((label, index) => choice(index, label)) : allowOrDeny
  const answer = await caller.perform('askPerson', {
    body: {
      question: question ?? `May the agent use ${tool}?`.slice(0, 500),
      ...(action && { action }),
      ...(offered && { choices: offered }),
    },
  })
  return (answer as { ask_id: string }).ask_id
}

const choice = (index: number, label: string) => ({ id: String(index + 1), label, kind: 'answer' })
const allowOrDeny = [
  { id: 'allow', label: 'Allow', kind: 'allow' },
  { id: 'deny', label: 'Deny', kind: 'deny' },
]

/** The words of the choice in place of its number. */
function chosen(choices: readonly string[] | undefined, answer: RecordOf): RecordOf {
  const label = choices?.[Number(answer['choice']) - 1]
  return label === undefined ? answer : { ...answer, choice: label }
}

/** Nobody's answer is no: an agent that goes on is never let through by silence. */
async function promptAnswer(
  { caller }: Exchange,
  input: RecordOf,
  askId: string,
  answer: RecordOf,
): Promise<CallToolResult> {
  const { status } = answer
  if (status === 'pending')
    await caller
      .perform('withdrawAsk', { params: { askId }, body: { because: 'Nobody answered in time' } })
      .catch(() => undefined)
  const { edited_args: edited = input } = answer
  const told =
    status === 'answered' && isRecord(edited)
      ? { behavior: 'allow', updatedInput: edited }
      : { behavior: 'deny', message: reasonOf(answer) }
  // As the prompt of a coding agent wants it: this and nothing else in the text.
  return {
    content: [{ type: 'text', text: JSON.stringify(told) }],
    structuredContent: { status, ask_id: askId, ...told },
  }
}

function reasonOf({ status, deny_reason: reason }: RecordOf): string {
  if (status === 'denied') return typeof reason === 'string' ? reason : 'The person said no'
  if (status === 'answered') return 'What the person made of the input is no object; ask again'
  return 'The person did not answer in time'
}

/** As long polls that each end before a host would cut them, with a word in between for who wants one. */
async function waitFor(
  exchange: Exchange,
  seconds = defaultWaitSeconds,
  poll: (wait: number) => Promise<unknown>,
): Promise<RecordOf> {
  const until = Date.now() + seconds * 1000
  return exchange.whileWanted(async () => {
    for (let round = 1; ; round++) {
      const left = Math.max(0, Math.ceil((until - Date.now()) / 1000))
      const answer = (await poll(Math.min(left, longPollMaxSeconds - 5))) as RecordOf
      exchange.signal.throwIfAborted()
      if (answer['status'] !== 'pending' || Date.now() >= until || exchange.stopping.aborted) return answer
      await exchange.progress(round / 1000, 'Still waiting for you in Guildhall')
    }
  })
}
