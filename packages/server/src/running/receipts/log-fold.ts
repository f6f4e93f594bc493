import { createHash } from 'node:crypto'
import type { NewExecutionEvent } from '@guildhall/contract'
import { erasedPayload } from '#running/traces/traces.ts'

/** What a receipt says of a file before its checksum is looked up. */
export interface KeptFile {
  readonly path: string
  readonly sizeBytes: number
  readonly artifactId: string
}

const told: readonly string[] = [
  'span.model_request_end',
  'agent.tool_use',
  'agent.tool_result',
  'agent.info',
] satisfies NewExecutionEvent['type'][]

/** A model may call what there is not, by any text for a name; that text is not for a receipt. */
const toolName = /^[\w.:-]{1,64}$/
const otherTool = '(other)'

/**
 * Reads a log once, in order: the hash over all of it, and what a receipt counts. What was said goes into the hash and
 * nowhere else.
 */
export class LogFold {
  readonly #hash = createHash('sha256')
  readonly #models = new Set<string>()
  readonly #tools = new Map<string, { calls: number; errors: number }>()
  readonly #nameOfCall = new Map<string, string>()
  readonly #files: KeptFile[] = []
  #events = 0
  #redactions = 0

  add({ sequence, type, payload }: { sequence: number; type: string; payload: string }): void {
    this.#events++
    this.#hash.update(`${sequence} ${type} ${payload}\n`)
    if (payload === erasedPayload) this.#redactions++
    else if (told.includes(type)) this.#count({ type, payload: JSON.parse(payload) } as NewExecutionEvent)
  }

  #count(event: NewExecutionEvent): void {
    switch (event.type) {
      case 'span.model_request_end': {
        const { model } = event.payload
        if (model !== undefined) this.#models.add(model)
        return
      }
      case 'agent.tool_use': {
        const { name, toolUseId } = event.payload
        this.#countCall(toolName.test(name) ? name : otherTool, toolUseId)
        return
      }
      case 'agent.tool_result': {
        const { isError, toolUseId } = event.payload
        const tool = isError ? this.#tools.get(this.#nameOfCall.get(toolUseId) ?? '') : undefined
        if (tool) tool.errors++
        return
      }
      case 'agent.info': {
        const { kind, name, sizeBytes, artifactId } = event.payload
        if (kind === 'file')
          this.#files.push({
            path: String(name),
            sizeBytes: Number(sizeBytes),
            artifactId: String(artifactId),
          })
      }
    }
  }

  #countCall(name: string, callId: string | undefined): void {
    const tool = this.#tools.get(name) ?? { calls: 0, errors: 0 }
    tool.calls++
    this.#tools.set(name, tool)
    if (callId !== undefined) this.#nameOfCall.set(callId, name)
  }

  get result() {
    const toolCalls = [...this.#tools].map(([name, { calls, errors }]) => ({ name, calls, errors }))
    return {
      log: { events: this.#events, sha256: this.#hash.copy().digest('hex') },
      redactions: this.#redactions,
      models: [...this.#models].sort(),
      toolCalls: toolCalls.sort((one, other) => (one.name < other.name ? -1 : 1)),
      files: this.#files,
    }
  }
}
