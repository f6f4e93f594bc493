import type { GrantMode, ShownAction } from '@guildhall/sdk'
import { diffLines, jsonOf, type Line, textLines, valueLines } from '../parts/lines.ts'

interface Request {
  readonly method: string
  readonly bodySha256?: string | null
}

/** Something that is shown of an action, and whose word it is: what is bound, or what the agent says. */
export interface ActionPart {
  readonly title: 'willSend' | 'saysItWillRun'
  readonly tool?: string | undefined
  readonly cost?: number | undefined
  readonly blocks: readonly { readonly testId: string; readonly lines: readonly Line[] }[]
}

export function partsOf(action: ShownAction, isRaw: boolean): ActionPart[] {
  const { args, diff, tool, estimatedCost: cost, argsAreBody } = action
  const body =
    args === undefined
      ? []
      : [{ testId: 'action-args', lines: isRaw ? textLines(jsonOf(args)) : valueLines(args) }]
  const change =
    diff === undefined ? [] : [{ testId: 'action-diff', lines: isRaw ? textLines(diff) : diffLines(diff) }]
  const said = argsAreBody ? change : [...body, ...change]
  return [
    ...(argsAreBody ? [{ title: 'willSend' as const, blocks: body }] : []),
    ...(said.length > 0 || tool || cost !== undefined
      ? [{ title: 'saysItWillRun' as const, tool, cost, blocks: said }]
      : []),
  ]
}

/** How far a yes reaches: a single use of one request is that one request only where its body is bound. */
export function coverOf(mode: GrantMode, action: ShownAction | null): GrantMode | 'bound' | 'anyBody' {
  if (mode !== 'one_time' || !action?.request) return mode
  return takesAnyBody(action.request) ? 'anyBody' : 'bound'
}

/** What there is to say of an action that names a request without showing what it is bound to. */
export function noteOf(action: ShownAction): 'anyBody' | 'notBound' | undefined {
  const { request, args, diff, argsAreBody } = action
  if (!request || argsAreBody) return undefined
  if (takesAnyBody(request)) return 'anyBody'
  return args === undefined && diff === undefined ? undefined : 'notBound'
}

/** A key's request of the other two methods has none that anything reads. */
export const takesAnyBody = ({ method, bodySha256 }: Request) =>
  typeof bodySha256 !== 'string' && method !== 'GET' && method !== 'DELETE'
