import { isObject } from '../protocol.ts'

type Container = Record<string, unknown>

/** Changes what a path of an issue leads to. A mapConfig is a text that holds JSON, and paths go on into it. */
export function changeAt(
  root: object,
  path: readonly string[],
  change: (container: Container, key: string) => void,
): void {
  const [key, ...rest] = path
  if (key === undefined) return
  const container = root as Container
  if (rest.length === 0) {
    change(container, key)
    return
  }
  const inner = container[key]
  if (typeof inner === 'string') {
    const parsed = JSON.parse(inner) as object
    changeAt(parsed, rest, change)
    container[key] = JSON.stringify(parsed)
  } else if (isObject(inner) || Array.isArray(inner)) changeAt(inner, rest, change)
}

/** Every text in a value, whatever holds it, as `change` gives it. */
export function changeTexts(value: unknown, change: (text: string) => string): unknown {
  if (typeof value === 'string') return change(value)
  if (Array.isArray(value)) return value.map((part) => changeTexts(part, change))
  if (!isObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, changeTexts(part, change)]))
}
