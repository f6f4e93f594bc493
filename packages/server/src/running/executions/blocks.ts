import type { EventRow } from '#streams/streams.ts'

export type OutputBlock = { sequence: number; type: 'text' | 'tool' | 'file' | 'json' | 'error' } & Record<
  string,
  unknown
>

type Payload = Record<string, unknown>

/** The log as somebody reads it who only wants to know what came out: in order, each block where it began. */
export class BlockFold {
  readonly blocks: OutputBlock[] = []
  readonly #tools = new Map<unknown, OutputBlock>()

  add({ sequence, type, payload: text }: EventRow): void {
    const payload = JSON.parse(text) as Payload
    // Erased: nothing came out that could be shown.
    if (payload['redacted'] === true) return
    switch (type) {
      case 'agent.message':
        for (const block of contentOf(payload)) {
          if (block['type'] === 'text') this.blocks.push({ sequence, type: 'text', text: block['text'] })
        }
        break
      case 'agent.tool_use':
        this.#beginTool(sequence, payload)
        break
      case 'agent.tool_result':
        this.#endTool(payload)
        break
      case 'agent.info':
        this.#addInfo(sequence, payload)
        break
      case 'session.status_idle':
        this.#end(sequence, payload)
    }
  }

  #beginTool(sequence: number, { tool, label, toolUseId }: Payload): void {
    const block: OutputBlock = { sequence, type: 'tool', name: tool, label, status: 'running' }
    this.#tools.set(toolUseId, block)
    this.blocks.push(block)
  }

  #endTool({ toolUseId, isError }: Payload): void {
    const block = this.#tools.get(toolUseId)
    if (block) block['status'] = isError ? 'error' : 'success'
  }

  #addInfo(sequence: number, payload: Payload): void {
    const { kind, name, mimeType, sizeBytes, url, data } = payload
    if (kind === 'file') this.blocks.push({ sequence, type: 'file', name, mimeType, sizeBytes, url })
    if (kind === 'json') this.blocks.push({ sequence, type: 'json', data })
  }

  /** What had begun and has no result will not get one. */
  #end(sequence: number, payload: Payload): void {
    for (const block of this.#tools.values()) {
      if (block['status'] === 'running') block['status'] = 'error'
    }
    const reason = payload['stop_reason'] as Payload | undefined
    if (reason?.['type'] === 'end_turn') return
    const code = String(reason?.['code'] ?? reason?.['type'] ?? 'error')
    this.blocks.push({ sequence, type: 'error', code, message: messages[code] ?? 'The run failed' })
  }
}

const messages: Readonly<Record<string, string>> = {
  interrupt: 'The run was canceled',
  limit_reached:
    'The run reached the limit of what it may cost; raise maxCost or the credits, and run it again',
  KEY_SPEND_LIMIT: 'The key reached its spend limit; its owner can raise it',
  INSUFFICIENT_CREDITS: 'Too few credits to run this; add credits and start again',
  EXECUTION_TIMEOUT: 'The run took longer than 65 minutes',
  EXECUTION_EXPIRED: 'Nothing was asked of it for a day',
  EXECUTION_FAILED: 'No worker took the run; start it again',
  SANDBOX_LOST: 'The worker that ran this was lost; run it again',
  STORAGE_UNAVAILABLE: 'The files of the run could not be stored, so it cost nothing; run it again later',
  QUOTA_EXCEEDED:
    'The workspace has no room for the files of the run; delete artifacts, or wait for the next full hour if much was written in this one, and run it again',
  MODEL_FAILED: 'The model did not answer; try again later or with another model',
  TOO_MANY_STEPS: 'The agent did not come to an end; ask for less at a time',
}

function contentOf(payload: Payload): Payload[] {
  return Array.isArray(payload['content']) ? payload['content'] : []
}
