import { toDs } from '@guildhall/contract'
import { refused, said, type ThreadTool, type ToolRun, type ToolUse, type Used } from './tool.ts'

/** How many agents may ask one another in a row. */
const deepestAsk = 2

interface Listed {
  readonly slug: string
  readonly name: string
  readonly description: string
  readonly status: string
}

interface Run {
  readonly status: string
  readonly stopReason: string | null
  readonly errorCode: string | null
  readonly cost: number
  readonly tainted: boolean
}

interface Messages {
  readonly items: readonly {
    readonly role: string
    readonly content: string
    readonly runId: string | null
  }[]
  readonly nextCursor: string | null
}

/** Other agents of the workspace, each asked in a thread of its own. */
export function agentTools(run: ToolRun): ThreadTool[] {
  return [
    {
      name: 'list_agents',
      description: 'The agents of this workspace, with what they are for.',
      inputSchema: { type: 'object', properties: {}, additionalProperties: false },
      does: 'look',
      isKeyed: true,
      summary: () => 'List the agents',
      use: async (_input, { perform }) => {
        const agents = (await perform('listAgents', {})) as Listed[]
        const others = agents.filter(({ slug }) => slug !== run.agent.slug)
        return said(others.map(({ slug, name, description }) => ({ slug, name, description })))
      },
    },
    {
      name: 'ask_agent',
      description: 'Asks another agent of this workspace and waits for its answer. It costs credits.',
      inputSchema: {
        type: 'object',
        properties: {
          agent: { type: 'string', minLength: 1, maxLength: 64 },
          message: { type: 'string', minLength: 1, maxLength: 100_000 },
        },
        required: ['agent', 'message'],
        additionalProperties: false,
      },
      does: 'spend',
      isKeyed: true,
      isOurs: true,
      summary: ({ agent }) => `Ask the agent ${agent}`,
      use: ({ agent, message }, use) => askAgent(String(agent), String(message), use),
    },
  ]
}

/** Asked once, however often this is done; then waited for, with nothing held. */
async function askAgent(agentId: string, message: string, use: ToolUse): Promise<Used> {
  const { id, run, perform, principal } = use
  if (run.depth >= deepestAsk)
    return refused(`Agents ask one another at most ${deepestAsk} times in a row; answer with what you have.`)
  const threadId = `asked.${run.runId}.${id}`
  const { waited } = run
  const isAsked = waited?.kind === 'run' && waited.toolUseId === id
  const runId = isAsked ? waited.ref : await begun()
  if (typeof runId !== 'string') return runId
  const found = (await perform('getThreadRun', { params: { id: threadId, runId } })) as Run
  // Ended by somebody else, it may have left behind what still costs.
  const { isOpen, milliDs } = await run.causedBy(runId)
  if (isOpen) return { pause: { kind: 'run', ref: runId } }
  if (found.tainted) await run.taint('agent')
  const answer = await lastWord(runId)
  const { status, stopReason, errorCode, cost } = found
  return {
    ...said({ agent: agentId, status, stopReason, ...(errorCode !== null && { errorCode }), answer, cost }),
    isError: status !== 'completed',
    delegatedMilliDs: milliDs,
  }

  /** Of that run alone: others may write into the thread as well. */
  async function lastWord(ofRun: string): Promise<string | null> {
    let last: string | null = null
    for (let cursor: string | null = '0'; cursor !== null; ) {
      const page = await perform('listThreadMessages', {
        params: { id: threadId },
        query: { cursor, limit: mostMessages },
      })
      const { items, nextCursor } = page as Messages
      last = items.findLast(({ role, runId }) => role === 'agent' && runId === ofRun)?.content ?? last
      cursor = nextCursor
    }
    return last
  }

  async function begun(): Promise<string | Used> {
    const left = await run.remainingMilliDs()
    if (left <= 0) return refused('Nothing is left of what this message may cost; nobody was asked.')
    const body = {
      resourceId: principal.workspaceId,
      threadId,
      message,
      ifActive: 'queue',
      maxCost: toDs(left),
    }
    const sent = await perform('sendMessage', { params: { agentId }, body })
    return (sent as { runId: string }).runId
  }
}

const mostMessages = 200
