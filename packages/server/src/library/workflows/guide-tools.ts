/** What the guide tells of a tool. */
export interface GuideTool {
  readonly id: string
  readonly description: string
  readonly inputSchema: Readonly<Record<string, unknown>>
  readonly gives?: string
}

const more = 'More: the answer of validate says whether a toolId exists.'

/** One line for each; with less room only what has to be given, then only names. */
export function toolLines(tools: readonly GuideTool[], room: number): string {
  for (const lineOf of [wholeLine, shortLine]) {
    const text = tools.map(lineOf).join('\n')
    if (text.length <= room) return text
  }
  const names: string[] = []
  let left = room - more.length - 1
  for (const { id } of tools) {
    left -= id.length + 2
    if (left < 0) break
    names.push(id)
  }
  return `${names.join(', ')}\n${more}`
}

function wholeLine({ id, description, inputSchema, gives }: GuideTool): string {
  return `- ${id} ${signature(inputSchema)}${gives === undefined ? '' : ` gives ${gives}`}. ${description}`
}

function shortLine({ id, inputSchema }: GuideTool): string {
  const required = inputSchema['required']
  return `- ${id} {${Array.isArray(required) ? required.join(', ') : ''}}`
}

/** A schema in as few characters as say it: `{url: text, method?: "GET"|"POST"}`. */
function signature(schema: unknown): string {
  if (!isRecord(schema)) return 'any'
  const { type, properties, items, enum: values, required } = schema
  if (Array.isArray(values)) return values.map((value) => JSON.stringify(value)).join('|')
  if (isRecord(properties)) {
    const needed = Array.isArray(required) ? required : []
    const parts = Object.entries(properties).map(
      ([name, value]) => `${name}${needed.includes(name) ? '' : '?'}: ${signature(value)}`,
    )
    return `{${parts.join(', ')}}`
  }
  if (items !== undefined) return `[${signature(items)}]`
  return Array.isArray(type) ? type.join('|') : typeof type === 'string' ? type : 'any'
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
