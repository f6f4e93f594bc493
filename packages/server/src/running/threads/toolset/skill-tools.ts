import { fromDs, toDs } from '@guildhall/contract'
import { refused, said, type ThreadTool, type ToolRun, type ToolUse, type Used } from './tool.ts'

const text = { type: 'string', minLength: 1 }

interface Skill {
  readonly slug: string
  readonly name: string
  readonly description: string
}

interface Status {
  readonly status: string
  readonly stopReason: string | null
  readonly skillName: string
  readonly cost: number
  readonly outputBlocks: readonly { readonly type: string; readonly text?: string }[]
}

const shownSkills = 50

/** Skills of the workspace; of those only what the agent is made with, if it names any. */
export function skillTools({ agent }: ToolRun): ThreadTool[] {
  const isOwn = (slug: string) => agent.skills.length === 0 || agent.skills.includes(slug)
  return [
    {
      name: 'search_skills',
      description: 'Finds installed skills by words of their name or description.',
      inputSchema: { type: 'object', properties: { query: { type: 'string' } }, additionalProperties: false },
      does: 'look',
      isKeyed: true,
      summary: ({ query }) => (query ? `Look for skills: ${query}` : 'List the skills'),
      use: async ({ query = '' }, { perform }) => {
        const skills = (await perform('listSkills', {})) as Skill[]
        const words = String(query).toLowerCase().split(/\s+/)
        const found = skills.filter(
          ({ slug, name, description }) =>
            isOwn(slug) &&
            words.every((word) => `${slug} ${name} ${description}`.toLowerCase().includes(word)),
        )
        const shown = found.slice(0, shownSkills)
        const items = shown.map(({ slug, name, description }) => ({ slug, name, description }))
        return said({
          skills: items,
          ...(found.length > shown.length && { more: found.length - shown.length }),
        })
      },
    },
    {
      name: 'run_skill',
      description: 'Runs an installed skill on an input and waits for its result. It costs credits.',
      inputSchema: {
        type: 'object',
        properties: { slug: { ...text, maxLength: 64 }, input: { ...text, maxLength: 100_000 } },
        required: ['slug', 'input'],
        additionalProperties: false,
      },
      does: 'spend',
      isKeyed: true,
      summary: ({ slug }) => `Run the skill ${slug}`,
      use: ({ slug, input }, use) =>
        isOwn(String(slug))
          ? runSkill(String(slug), String(input), use)
          : Promise.resolve(
              refused(
                `This agent runs only the skills ${agent.skills.join(', ')}; "${slug}" is none of them.`,
              ),
            ),
    },
    {
      name: 'get_execution',
      description: 'What became of an execution of a skill: its status and its output.',
      inputSchema: {
        type: 'object',
        properties: { executionId: { ...text, maxLength: 100 } },
        required: ['executionId'],
        additionalProperties: false,
      },
      does: 'look',
      isKeyed: true,
      summary: ({ executionId }) => `Look at the execution ${executionId}`,
      use: async ({ executionId }, { perform }) => {
        const status = await perform('getExecutionStatus', { params: { executionId: String(executionId) } })
        return said(describe(String(executionId), status as Status))
      },
    },
  ]
}

const open = ['idle', 'working']

/** Started or queued once, however often this is asked; then waited for, with nothing held. */
async function runSkill(slug: string, input: string, { id, run, perform }: ToolUse): Promise<Used> {
  const executionId = await begun()
  if (typeof executionId !== 'string') return executionId
  const status = (await perform('getExecutionStatus', { params: { executionId } })) as Status
  if (open.includes(status.status)) return { pause: { kind: 'execution', ref: executionId } }
  return {
    ...said(describe(executionId, status)),
    isError: status.status !== 'completed',
    delegatedMilliDs: fromDs(status.cost),
  }

  async function begun(): Promise<string | Used> {
    const { waited } = run
    if (waited?.kind === 'execution' && waited.toolUseId === id) return waited.ref
    const left = await run.remainingMilliDs()
    if (left <= 0) return refused('Nothing is left of what this message may cost; the skill was not started.')
    const body = { input, ifBusy: 'queue', maxCost: toDs(left), source: 'chat' }
    const started = await perform('runSkill', { params: { slug }, body })
    return (started as { executionId: string }).executionId
  }
}

function describe(executionId: string, { status, stopReason, skillName, cost, outputBlocks }: Status) {
  const said = outputBlocks.flatMap((block) => (block.type === 'text' ? [block.text ?? ''] : []))
  const others = outputBlocks.filter(({ type }) => type !== 'text')
  return { executionId, skillName, status, stopReason, cost, text: said.join('\n'), outputs: others }
}
