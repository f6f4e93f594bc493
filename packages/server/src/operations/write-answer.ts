import type { Route } from '@guildhall/contract'
import fastJson from 'fast-json-stringify'
import type { Answer, EventsAnswer, FileAnswer, JsonAnswer, WithCookies } from './answer.ts'

/**
 * Makes one answer of what a handler gives back. Values are written by their schema: what it does not name is not told
 * to anybody, whichever transport asks.
 */
export function compileAnswer(route: Route): (given: unknown) => Answer {
  const write = compileBody(route)
  if (!route.setsCookies) return write
  return (given) => {
    const { answer, cookies } = given as WithCookies
    return { ...write(answer), cookies }
  }
}

function compileBody(route: Route): (given: unknown) => Answer {
  switch (route.answers) {
    case 'json':
      return (given) => jsonAnswer(given as JsonAnswer)
    case 'file':
      return (given) => ({ kind: 'file', file: given as FileAnswer })
    case 'events':
      return (given) => ({ kind: 'events', events: given as EventsAnswer })
    case 'either': {
      const writeValue = compileValue(route.responses)
      return (given) => (isEvents(given) ? { kind: 'events', events: given } : writeValue(given))
    }
    case 'redirect':
      return (given) => ({ kind: 'redirect', location: (given as { location: string }).location })
    case 'text':
      return (given) => ({ kind: 'text', text: given as string })
    default:
      return compileValue(route.responses)
  }
}

function isEvents(given: unknown): given is EventsAnswer {
  return typeof (given as Partial<EventsAnswer>).open === 'function'
}

/** Up to this many characters a text is one string: no stream is worth its while. */
const shortText = 32_768

function jsonAnswer(given: JsonAnswer): Answer {
  if ('text' in given) {
    const { text } = given
    return text.length > shortText
      ? { kind: 'pieces', text }
      : { kind: 'value', status: 200, text: String(text) }
  }
  if ('items' in given) return { kind: 'items', ...given }
  if ('prepared' in given) return { kind: 'prepared', ...given }
  return { kind: 'value', status: 200, text: JSON.stringify(given.value) }
}

function compileValue(responses: Route['responses']): (given: unknown) => Answer {
  const writers = new Map(
    Object.entries(responses).map(([status, schema]) => [Number(status), fastJson(schema as object)]),
  )
  const [[status, write] = []] = writers
  if (writers.size === 1 && status !== undefined && write)
    return (given) => ({ kind: 'value', status, text: write(given) })
  return (given) => {
    const { status, body } = given as { status: number; body: unknown }
    const writeIt = writers.get(status)
    if (!writeIt) throw new Error(`a handler answered ${status}, which its contract does not name`)
    return { kind: 'value', status, text: writeIt(body) }
  }
}
