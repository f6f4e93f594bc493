import { createHash } from 'node:crypto'
import { canonical } from '#platform/canonical.ts'
import { RefusedCall } from './refused-call.ts'
import { type Reach, said, type ThreadTool, type ToolInput, type ToolUse, type Used } from './tool.ts'

const text = (maxLength: number) => ({ type: 'string', minLength: 1, maxLength })
const slug = text(64)
const record = { type: 'object' }
const closed = (properties: object, required: readonly string[] = Object.keys(properties)) => ({
  type: 'object',
  properties,
  required,
  additionalProperties: false,
})

interface Listed {
  readonly slug: string
  readonly name: string
  readonly description: string
  readonly inputSchema: unknown
}

/** Whether a definition has a step that reaches what is not ours. */
export type ReachesOutside = (definition: string) => boolean

export function workflowTools(reachesOutside: ReachesOutside): ThreadTool[] {
  return [
    {
      name: 'workflow_guide',
      description:
        'How to write a workflow: the language, the tools and agents here. Read it before writing one.',
      inputSchema: closed({}),
      ...looks(() => 'Read how workflows are written'),
      isOurs: true,
      use: async (_input, { perform }) => {
        const { guide } = (await perform('getWorkflowGuide', {})) as { guide: string }
        return said(guide)
      },
    },
    {
      name: 'list_workflows',
      description: 'The installed workflows, with what they take.',
      inputSchema: closed({ query: { type: 'string' } }, []),
      ...looks(() => 'List the workflows'),
      use: async ({ query = '' }, { perform }) => {
        const { workflows } = (await perform('listWorkflowDefinitions', {})) as { workflows: Listed[] }
        const word = String(query).toLowerCase()
        const found = workflows.filter(({ slug, name, description }) =>
          `${slug} ${name} ${description}`.toLowerCase().includes(word),
        )
        return said(
          found.map(({ slug, name, description, inputSchema }) => ({ slug, name, description, inputSchema })),
        )
      },
    },
    {
      name: 'get_workflow',
      description: 'An installed workflow with its definition.',
      inputSchema: closed({ slug }),
      ...looks(({ slug }) => `Look at the workflow ${slug}`),
      use: async ({ slug }, { perform }) => {
        const { name, description, definition } = await findWorkflow(perform, String(slug))
        return said({ slug, name, description, definition: JSON.parse(definition) })
      },
    },
    {
      name: 'validate_workflow',
      description: 'Everything that is wrong with a definition, each with a hint what to write instead.',
      inputSchema: closed({ definition: record }),
      ...looks(() => 'Check a workflow'),
      isOurs: true,
      use: async ({ definition }, { perform }) =>
        said(await perform('validateWorkflow', { body: { definition } })),
    },
    {
      name: 'install_workflow',
      description:
        'Installs a definition under a slug. One that is there is replaced, after a person agreed.',
      inputSchema: closed({ slug, definition: record }),
      does: 'make',
      isKeyed: true,
      isOurs: true,
      summary: ({ slug }) => `Install the workflow ${slug}`,
      use: installWorkflow,
    },
    {
      name: 'launch_workflow',
      description: 'Starts an installed workflow and answers at once; its end is told in this thread.',
      inputSchema: closed({ slug: text(200), inputs: record }, ['slug']),
      does: 'spend',
      isKeyed: true,
      isOurs: true,
      summary: ({ slug }) => `Launch the workflow ${slug}`,
      reach: ({ slug }, perform) => reachOf(String(slug), perform, reachesOutside),
      use: launchWorkflow,
    },
    {
      name: 'get_workflow_run',
      description: 'The status of a run, what its steps gave, and what it waits for.',
      inputSchema: closed({ runId: text(100) }),
      ...looks(({ runId }) => `Look at the run ${runId}`),
      use: async ({ runId }, { perform }) => {
        return said(await perform('getWorkflowRun', { params: { runId: String(runId) } }))
      },
    },
    {
      name: 'cancel_workflow_run',
      description: 'Ends a run that is under way or waits.',
      inputSchema: closed({ runId: text(100) }),
      does: 'spend',
      isKeyed: true,
      isOurs: true,
      summary: ({ runId }) => `Cancel the run ${runId}`,
      use: async ({ runId }, { perform }) =>
        said(await perform('cancelWorkflowRun', { params: { runId: String(runId) } })),
    },
  ]
}

function looks(summary: ThreadTool['summary']): Pick<ThreadTool, 'does' | 'isKeyed' | 'summary'> {
  return { does: 'look', isKeyed: true, summary }
}

interface Installed {
  readonly slug: string
  readonly name: string
  readonly description: string
  readonly definition: string
}

async function findWorkflow(perform: ToolUse['perform'], slug: string): Promise<Installed> {
  return (await perform('getWorkflow', { params: { slug } })) as Installed
}

/** What others made is not replaced unasked. The same once more changes nothing, so it needs no question. */
async function installWorkflow({ slug, definition }: ToolInput, use: ToolUse): Promise<Used> {
  const name = String(slug)
  const before = await findWorkflow(use.perform, name).catch(missing)
  if (before && canonical(JSON.parse(before.definition)) !== canonical(definition)) {
    const answered = await use.askPerson(`Replace the workflow ${name}`)
    if (answered) return answered
  }
  const installed = await use.perform('installWorkflow', { params: { slug: name }, body: { definition } })
  const { slug: kept, description } = installed as Installed
  return said({ installed: kept, description })
}

function missing(error: unknown): undefined {
  if (error instanceof RefusedCall && error.refusal.code === 'NOT_FOUND') return undefined
  throw error
}

/** A workflow reaches as far as its steps do, so launching one is no way around who must say yes to that. */
async function reachOf(
  slug: string,
  perform: ToolUse['perform'],
  reachesOutside: ReachesOutside,
): Promise<Reach> {
  const { definition } = await findWorkflow(perform, slug)
  const definitionSha256 = createHash('sha256').update(definition).digest('hex')
  return { isOutside: reachesOutside(definition), facts: { definitionSha256 } }
}

/** Just what was judged, and shown where somebody was asked: another may have been installed under the slug meanwhile. */
async function launchWorkflow({ slug, inputs = {} }: ToolInput, { perform, facts }: ToolUse): Promise<Used> {
  const launched = await perform('launchWorkflow', {
    params: { id: String(slug) },
    body: { inputs },
    ...facts,
  })
  const { runId } = launched as { runId: string }
  return { ...said(launched), launchedRunId: runId }
}
