/**
 * JSON in lines that can be compared: one for each part of an operation. It is read by
 * programs and by the page that `npm run docs:api` builds, so no space is spent on looks.
 */
export function printJson(value: unknown, depth = 4): string {
  return `${print(JSON.parse(JSON.stringify(value)), depth)}\n`
}

function print(value: unknown, depth: number): string {
  if (depth === 0 || typeof value !== 'object' || value === null || Array.isArray(value)) {
    return JSON.stringify(value)
  }
  const lines = Object.entries(value).map(([key, part]) => `${JSON.stringify(key)}:${print(part, depth - 1)}`)
  return lines.length === 0 ? '{}' : `{\n${lines.join(',\n')}}`
}
