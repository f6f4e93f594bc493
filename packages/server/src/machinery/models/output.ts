import { validateValue } from '#machinery/graph/graph.ts'

export type ReadObject = (text: string) => { object: unknown } | { objectProblem: string }

/** Checked by the language's own validator: it is bounded in work, whatever schema an author wrote. */
export function objectReader(schema: object): ReadObject {
  return (text) => {
    let object: unknown
    try {
      object = JSON.parse(text)
    } catch {
      return { objectProblem: 'The reply is not JSON. Reply with the object alone.' }
    }
    const problems = validateValue(schema as Record<string, unknown>, object)
    if (problems.length === 0) return { object }
    const told = problems.slice(0, 5).map(({ path, message }) => `${path || 'the whole'} ${message}`)
    return { objectProblem: `The reply does not fit the schema: ${told.join(', ')}.` }
  }
}
