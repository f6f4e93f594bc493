import type { ModelTool } from '#machinery/models/models.ts'
import { type Sandbox, SandboxError } from '#machinery/sandbox/sandbox.ts'

/** What a tool call came to. `output` is for the model, `summary` for people. */
export interface ToolOutcome {
  output: string
  isError: boolean
}

const outputBytes = 64_000
const fileBytes = 256_000
const listedEntries = 500
const defaultTimeoutSeconds = 120
const maxTimeoutSeconds = 600

const path = { type: 'string', description: 'Below /workspace or /skill; relative paths are in /workspace' }

/** The four tools an agent has while it runs a skill; all of them act in its sandbox and nowhere else. */
export const agentToolSchemas: readonly ModelTool[] = [
  {
    name: 'bash',
    description:
      'Run a command in the sandbox, in /workspace. The skill is at /skill (read-only). There is no network.',
    inputSchema: {
      type: 'object',
      required: ['command'],
      properties: {
        command: { type: 'string' },
        timeoutSeconds: { type: 'integer', minimum: 1, maximum: maxTimeoutSeconds },
      },
    },
  },
  {
    name: 'read_file',
    description: 'Read a text file of the skill or of the workspace.',
    inputSchema: { type: 'object', required: ['path'], properties: { path } },
  },
  {
    name: 'write_file',
    description: 'Write a text file into /workspace. Files there are given to the person when the run ends.',
    inputSchema: {
      type: 'object',
      required: ['path', 'content'],
      properties: { path, content: { type: 'string' } },
    },
  },
  {
    name: 'list_files',
    description: 'List one folder of the skill or of the workspace.',
    inputSchema: { type: 'object', properties: { path } },
  },
]

/** Never throws for what the model did: it is told, and may do better. Only a lost sandbox and an abort end the run. */
export async function useTool(
  sandbox: Sandbox,
  name: string,
  input: unknown,
  signal: AbortSignal,
): Promise<ToolOutcome> {
  const given = typeof input === 'object' && input !== null ? (input as Record<string, unknown>) : {}
  try {
    switch (name) {
      case 'bash':
        return await runCommand(sandbox, given, signal)
      case 'read_file':
        return await readFile(sandbox, text(given, 'path'))
      case 'write_file':
        await sandbox.writeFile(text(given, 'path'), Buffer.from(text(given, 'content')))
        return { output: `Wrote ${text(given, 'path')}`, isError: false }
      case 'list_files':
        return await listFiles(sandbox, given['path'] === undefined ? '.' : text(given, 'path'))
      default:
        return failure(`There is no tool ${name.slice(0, 100)}; use one of those offered`)
    }
  } catch (error) {
    if (error instanceof ToolInputError) return failure(error.message)
    if (error instanceof SandboxError && error.reason === 'refused') return failure(error.message)
    throw error
  }
}

class ToolInputError extends Error {}

function text(given: Record<string, unknown>, field: string): string {
  const value = given[field]
  if (typeof value === 'string') return value
  throw new ToolInputError(`${field} must be a string`)
}

async function runCommand(
  sandbox: Sandbox,
  given: Record<string, unknown>,
  signal: AbortSignal,
): Promise<ToolOutcome> {
  const wanted = Number(given['timeoutSeconds'] ?? defaultTimeoutSeconds)
  const seconds = Math.min(Math.max(wanted || defaultTimeoutSeconds, 1), maxTimeoutSeconds)
  const result = await sandbox.run({
    shell: text(given, 'command'),
    timeoutMs: seconds * 1000,
    maxOutputBytes: outputBytes,
    signal,
  })
  const notes = [
    result.timedOut && `Ended: it took longer than ${seconds} s.`,
    result.outOfMemory && 'Ended: it used more memory than a sandbox has.',
    result.truncated && 'The output was cut.',
    result.exitCode !== 0 && !result.timedOut && `Exit code ${result.exitCode ?? result.signal}.`,
  ].filter((note) => typeof note === 'string')
  const output = [result.stdout, result.stderr && `stderr:\n${result.stderr}`, ...notes]
    .filter(Boolean)
    .join('\n')
  return { output: output || '(no output)', isError: result.exitCode !== 0 }
}

async function readFile(sandbox: Sandbox, name: string): Promise<ToolOutcome> {
  const file = await sandbox.readFile(name, fileBytes)
  if (!file) return failure(`There is no file ${name}`)
  const content = Buffer.from(file.bytes).toString()
  return { output: file.truncated ? `${content}\n(cut after ${fileBytes} bytes)` : content, isError: false }
}

async function listFiles(sandbox: Sandbox, folder: string): Promise<ToolOutcome> {
  const entries = await sandbox.listFiles(folder, listedEntries)
  const lines = entries.map(({ path: name, kind, sizeBytes }) =>
    kind === 'file' ? `${name} (${sizeBytes} bytes)` : `${name}${kind === 'directory' ? '/' : ' (other)'}`,
  )
  return { output: lines.join('\n') || '(empty)', isError: false }
}

function failure(message: string): ToolOutcome {
  return { output: message, isError: true }
}

/** One line for people, of what the agent is about to do. */
export function describeUse(name: string, input: unknown): string {
  const given = typeof input === 'object' && input !== null ? (input as Record<string, unknown>) : {}
  const subject = given['command'] ?? given['path'] ?? ''
  const line = String(subject).replace(/\s+/g, ' ').trim().slice(0, 120)
  const verbs: Readonly<Record<string, string>> = {
    bash: 'Run',
    read_file: 'Read',
    write_file: 'Write',
    list_files: 'List',
  }
  return `${verbs[name] ?? name} ${line}`.trim()
}
