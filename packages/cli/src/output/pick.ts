import { usage } from '../failure.ts'

/** `--get outputBlocks.0.text`: one value, raw. */
export function valueAt(value: unknown, path: string): unknown {
  let at: unknown = value
  for (const part of path.split('.')) {
    if (at === null || typeof at !== 'object' || !Object.hasOwn(at, part)) {
      throw usage(
        `There is nothing at "${path}" in this answer.`,
        'leave out --get and add --json to see what there is',
      )
    }
    at = (at as Record<string, unknown>)[part]
  }
  return at
}

export function rawText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** `--json=id,status`: those fields, of each item where there are items. */
export function fieldsOf(value: unknown, fields: readonly string[]): unknown {
  if (fields.length === 0 || value === null || typeof value !== 'object') return value
  const record = value as Record<string, unknown>
  if (Array.isArray(record['items'])) {
    return { ...record, items: record['items'].map((item) => fieldsOf(item, fields)) }
  }
  return Object.fromEntries(fields.map((field) => [field, record[field] ?? null]))
}
