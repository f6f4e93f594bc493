// biome-ignore-all lint/suspicious/noTemplateCurlyInString: what is shown is the language's own markers

import { type GuideTool, toolLines } from './guide-tools.ts'

/** By four characters a token, which is how prompts are counted here. */
const guideChars = 1800 * 4

const language = `# How to write a workflow
A definition is a JSON record {"id":"kebab-case","description"?,"inputSchema":{},"outputSchema":{},"graph":[entry,…]}. Entries run in order: the first gets the launch inputs (a record), each next one the output of the one before; the last output is the result. The schema {} accepts everything.

## Entries. Every step has a unique "id"; containers have none
- {"type":"mapping","id","mapConfig":"<JSON text>"} builds a record. At the top of the graph only.
- {"type":"tool","id","toolId","options"?:{"retries":0..10}} gets the output before it as its input, so put a mapping with its keys in front. There is no "args".
- {"type":"agent","id","agentId":"<slug>","outputSchema"?} needs {"prompt":text}; gives {"text"}, or with outputSchema the value itself.
- {"type":"sleep","id","duration":<ms>} and {"type":"sleepUntil","id","date":"2030-01-31T08:00:00Z"} pass their input on.
- {"type":"parallel","steps":[…]} gives all children the same input; gives {"<child id>":output,…}.
- {"type":"conditional","steps":[…],"predicates":[…]}: one predicate for each step, every true one runs; gives {"<child id>":output} of those.
- {"type":"loop","loopType":"dowhile"|"dountil","step":{…},"predicate":{…}}: the body's output is its next input; gives the last one.
- {"type":"foreach","step":{…},"opts"?:{"concurrency":n}} needs a list; each item is the step's whole input; gives the list of outputs.
Containers hold tool, agent, sleep and sleepUntil only: no mapping, no container.

## mapConfig: a text that holds JSON {"key":source,…}; a source is exactly one of
{"value":any} | {"template":"Hi ${'${initData.name}'}: ${'${stepResults.fetch.body}'}"} (gives a text) | {"initData":true,"path":"a.b"} | {"step":"id","path":"a.0.b"} | {"requestContextPath":"runId"}
Path "." is the whole value; "step":["a","b"] takes the branch that ran. Templates read initData, inputData, stepResults.<id>, requestContext.<key>. A mapping gives a record: a list for foreach comes from transform-json or an agent with an array outputSchema.

## Predicates
{"op":"eq|ne|lt|lte|gt|gte","left":{"path":"inputData.n"},"right":{"literal":3}} | {"op":"in|notIn","value":{"path":…},"set":[…]} | {"op":"exists|notExists","path":"initData.x"} | {"op":"truthy|falsy","value":{"path":…}} | {"op":"and|or","args":[…]} | {"op":"not","arg":…}
A path starts with initData, inputData (in a loop the body's newest output) or stepResults.<id>, without ${'${}'}.

## Not possible: decline and say why
Schedules (cron), webhooks and other triggers; a loop or foreach of several steps, or nested; state and counters; apps that no tool here reaches; launching another workflow; secrets.
`

const mapping = (id: string, config: object) => ({ type: 'mapping', id, mapConfig: JSON.stringify(config) })
const anything = { inputSchema: {}, outputSchema: {} }

/** Short, and each shows what the others do not. The first agent of the workspace stands in them. */
export function guideExamples(agent: string): { readonly says: string; readonly definition: object }[] {
  return [
    {
      says: 'Sum up a text',
      definition: {
        id: 'sum-up',
        ...anything,
        graph: [
          mapping('ask', { prompt: { template: 'Sum up: ${initData.text}' } }),
          { type: 'agent', id: 'write', agentId: agent },
        ],
      },
    },
    {
      says: 'Ask a person; act only after a yes',
      definition: {
        id: 'publish',
        ...anything,
        graph: [
          mapping('plan', { action: { template: 'Publish ${initData.title}' } }),
          { type: 'tool', id: 'gate', toolId: 'request-approval' },
          mapping('post', {
            url: { value: 'https://api.example.com/posts' },
            method: { value: 'POST' },
            body: { initData: true, path: 'title' },
          }),
          {
            type: 'conditional',
            steps: [{ type: 'tool', id: 'send', toolId: 'http-request' }],
            predicates: [{ op: 'eq', left: { path: 'stepResults.gate.approved' }, right: { literal: true } }],
          },
        ],
      },
    },
    {
      says: 'Do something for each item of a list',
      definition: {
        id: 'each-item',
        ...anything,
        graph: [
          mapping('pick', {
            expression: { value: '[items.{"prompt":"Translate: " & $}]' },
            data: { initData: true, path: '.' },
          }),
          { type: 'tool', id: 'list', toolId: 'transform-json' },
          {
            type: 'foreach',
            step: { type: 'agent', id: 'translate', agentId: agent },
            opts: { concurrency: 5 },
          },
          mapping('out', { texts: { step: 'translate', path: '.' } }),
        ],
      },
    },
  ]
}

/** All that somebody must know who has never seen the language, for a model on demand. It is never longer than planned. */
export function workflowGuide(tools: readonly GuideTool[], agents: readonly string[]): string {
  const [first = 'assistant'] = agents
  const examples = guideExamples(first).map(
    ({ says, definition }) => `${says}: ${JSON.stringify(definition)}`,
  )
  const shown = [
    '## Examples',
    ...examples,
    '',
    '## Agents here',
    agentLine(agents),
    '',
    '## Tools here',
  ].join('\n')
  const fixed = `${language}\n${shown}\n`
  return fixed + toolLines(tools, guideChars - fixed.length)
}

const agentChars = 300

function agentLine(agents: readonly string[]): string {
  const all = agents.join(', ')
  if (all.length <= agentChars) return all
  const cut = all.slice(0, all.lastIndexOf(', ', agentChars))
  return `${cut} and more`
}
