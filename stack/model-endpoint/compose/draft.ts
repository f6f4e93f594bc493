export type Definition = Record<string, unknown>

/** What the stand-in has in mind for a request before it has read how workflows are written here. */
export interface Draft {
  readonly definition: Definition
  /** Given to the run that it launches at once, when it was asked to. */
  readonly launchWith?: object
  /** What it must find among what is not possible, to decline; else it makes something of the request all the same. */
  readonly unless?: string
}

export function draft(id: string, ...graph: object[]): Draft {
  return { definition: { id, inputSchema: {}, outputSchema: {}, graph } }
}

export const mapping = (id: string, config: object) => ({
  type: 'mapping',
  id,
  mapConfig: JSON.stringify(config),
})
export const tool = (id: string, toolId: string, more: object = {}) => ({ type: 'tool', id, toolId, ...more })
export const agent = (id: string, more: object = {}) => ({ type: 'agent', id, agentId: 'assistant', ...more })

export const input = (path: string) => ({ initData: true, path })
export const from = (step: string | string[], path: string) => ({ step, path })
export const value = (constant: unknown) => ({ value: constant })
export const template = (text: string) => ({ template: text })

export const is = (op: string, path: string, literal: unknown) => ({ op, left: { path }, right: { literal } })
