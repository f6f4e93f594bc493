import { createRequire } from 'node:module'
import { isSlug } from '@guildhall/contract'
import type { Tool } from './tool.ts'

const load = createRequire(import.meta.url)

/** The tools that a deployment brings along. What is wrong with them stops the process before it serves anybody. */
export function loadOwnTools(modulePath: string | undefined): readonly Tool[] {
  if (modulePath === undefined) return []
  const refuse = (problem: string, cause?: unknown): never => {
    throw new Error(`TOOLS_MODULE: ${problem}; docs/tools.md says what it exports`, { cause })
  }
  let tools: unknown
  try {
    tools = (load(modulePath) as { tools?: unknown }).tools
  } catch (error) {
    return refuse(`${modulePath} cannot be loaded`, error)
  }
  if (!Array.isArray(tools)) return refuse(`${modulePath} exports no list called tools`)
  const bad = tools.findIndex((tool) => !isTool(tool))
  return bad === -1 ? tools : refuse(`number ${bad + 1} of its tools is not whole`)
}

function isTool(value: unknown): value is Tool {
  const { id, description, inputSchema, quick, run } = (value ?? {}) as Record<string, unknown>
  return (
    typeof id === 'string' &&
    isSlug(id) &&
    typeof description === 'string' &&
    typeof inputSchema === 'object' &&
    inputSchema !== null &&
    typeof quick === 'boolean' &&
    typeof run === 'function'
  )
}
