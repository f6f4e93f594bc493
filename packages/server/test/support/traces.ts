import type { Person } from '../../../../test/support/caller.ts'
import type { House } from './house.ts'

const skill = '---\nname: writer\ndescription: Writes.\n---\nWrite.\n'

export const said = (text: string) => ({ type: 'agent.text', payload: { content: [{ type: 'text', text }] } })

/** Calls that must succeed, for one person. */
export function callsOf(house: House, { token }: Person) {
  return async (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) => {
    const options = { token, headers, ...(body === undefined ? {} : { body }) }
    const answer = await house.call(method, `/api/v1${path}`, options)
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${answer.text}`)
    return answer.body
  }
}

/** A trace of something that has not run, with turns of whoever appends some. */
export async function newTrace(
  house: House,
  person: Person,
  events: readonly { type: string; payload: unknown }[] = [],
): Promise<string> {
  const call = callsOf(house, person)
  const files = [{ path: 'SKILL.md', content: skill }]
  const { id: artifactId } = await call('POST', '/artifacts', { type: 'skill', files })
  await call('POST', '/skills/writer/install', { artifactId })
  const { id } = await call('POST', '/executions', { skill_slug: 'writer', input: 'Write' })
  const { traceId } = await call('GET', `/executions/${id}/status`)
  if (events.length > 0) await call('POST', `/traces/${traceId}/events`, { events })
  return traceId
}
