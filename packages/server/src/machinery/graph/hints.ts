// biome-ignore-all lint/suspicious/noTemplateCurlyInString: what is shown is the language's own markers

/**
 * Every mistake that a definition can have, and what to write instead: whoever wrote it, a person or a model, can repair
 * it from this and the path alone. Nothing of the definition or of the workspace stands in here.
 */
export const hints = {
  'not-json': 'Send the definition as one JSON record: {"id", "inputSchema", "outputSchema", "graph"}.',
  'not-an-object':
    'Send a record {"id", "inputSchema", "outputSchema", "graph"}, not a list or a single value.',
  'definition-too-large': 'Shorten texts and constants, or make two workflows of it.',
  'missing-field': 'Add the field that the path ends with; {} is the schema that accepts everything.',
  'wrong-type':
    'Write a value of the type that the message names; leave an optional field out rather than null.',
  'unknown-field': 'Remove this field, or use one of those that the message lists.',
  'invalid-workflow-id':
    'Write an id such as "weekly-report": lower-case words and digits joined by hyphens.',
  'empty-graph': 'Put at least one entry into graph, such as {"type":"mapping","id":"out","mapConfig":"{}"}.',
  'graph-too-large': 'Use foreach or loop instead of repeated entries, or make two workflows of it.',
  'unknown-entry-type': 'Use one of the nine types that the message lists.',
  'missing-step-id': 'Give the step an id of its own, such as "id":"fetch". Only containers have none.',
  'invalid-step-id': 'Write an id such as "fetch-rows": letters, digits, - and _, without dots or spaces.',
  'reserved-step-id': 'Call the step otherwise, such as "first" instead of "input".',
  'duplicate-step-id': 'Give this step another id; ids are unique in the whole graph, children included.',
  'args-not-allowed':
    'Remove args and put a mapping before the tool whose mapConfig has one key for each input of the tool.',
  'invalid-retries': 'Write a whole number from 0 to 10, or leave retries out.',
  'unresolved-agent':
    'Write the slug of an agent of this workspace as agentId; GET /agents lists them, and so does the guide.',
  'unresolved-tool':
    'Write the id of a tool that exists here as toolId; the guide lists them. Run an installed skill with "execute-skill".',
  'invalid-map-placement':
    'Move the mapping out of the container, to the entry before it; all children get what it gives.',
  'nested-container':
    'Put an agent, tool, sleep or sleepUntil here, and the inner container into the graph as an entry of its own.',
  'empty-container': 'Put at least one step into steps, or remove the container.',
  'container-too-large': 'Split the steps over several containers, or use foreach over a list.',
  'predicate-count-mismatch': 'Write one predicate for each step, in the order of the steps.',
  'invalid-predicate':
    'Write {"op":"eq","left":{"path":"inputData.kind"},"right":{"literal":"a"}}; truthy and falsy take {"op","value":{"path"}}, exists {"op","path"}, and/or {"op","args":[…]}, not {"op","arg"}.',
  'invalid-predicate-path':
    'Write the path without ${}, such as inputData.count, initData.name or stepResults.fetch.status.',
  'predicate-too-deep': 'Write the condition flatter: one and/or with many args, or in with a set.',
  'invalid-loop-type': 'Write "dowhile" (go on as long as it holds) or "dountil" (go on until it holds).',
  'invalid-concurrency': 'Write a whole number from 1, such as {"concurrency":5}, or leave opts out.',
  'invalid-duration': 'Write milliseconds as a number: 60000 is a minute. Use sleepUntil for a date.',
  'invalid-date': 'Write a date such as "2030-01-31T08:00:00Z".',
  'invalid-map-config':
    'Write mapConfig as a text that holds JSON: "{\\"prompt\\":{\\"template\\":\\"Sum up ${initData.text}\\"}}".',
  'invalid-map-source':
    'Write exactly one of {"value":…}, {"template":"…"}, {"initData":true,"path":"a.b"}, {"step":"id","path":"a.b"}, {"requestContextPath":"runId"}, with no other key.',
  'invalid-map-path':
    'Write names joined by dots, without brackets or $: "rows.0.title"; "." is the whole value. The key must exist in what the step gives: an agent without outputSchema gives text only.',
  'invalid-template':
    'Write ${initData.name}, ${inputData.name}, ${stepResults.<step>.name} or ${requestContext.runId}, without blanks or brackets inside.',
  'unknown-step-reference':
    'Name a step that stands in an earlier entry of the graph; containers have no id, so name their children.',
  'invalid-schema': 'Correct this keyword as the message says, or leave it out; {} accepts everything.',
  'unsupported-schema-keyword':
    'Leave this keyword out; say the same with properties, required, enum, anyOf or a local $ref into $defs.',
  'schema-too-large': 'Describe less: leave out nested parts, since {} accepts everything.',
  'unsafe-pattern': 'Write a shorter pattern without back references, look-around and large nested counts.',
  'incompatible-schema':
    'Put a mapping before the entry that gives the missing keys. A list for foreach comes from a tool, an agent with an array outputSchema, or array inputs: never from a mapping.',
} as const

export type IssueCode = keyof typeof hints
