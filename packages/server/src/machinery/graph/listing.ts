import { isRecord, own } from './json.ts'

/** What lists show of a definition. Its metadata is the author's own, so whatever has the wrong type is absent. */
export interface Listing {
  readonly id: string | undefined
  readonly name: string | undefined
  readonly description: string | undefined
  readonly category: string | undefined
  readonly requiresConnector: string | null
  readonly triggers: readonly unknown[]
  readonly integrationTrigger: unknown
  readonly inputSchema: unknown
  readonly outputSchema: unknown
}

export function listingOf(definition: unknown): Listing {
  const record = isRecord(definition) ? definition : {}
  const given = own(record, 'metadata')
  const metadata = isRecord(given) ? given : {}
  const textOf = (value: unknown) => (typeof value === 'string' ? value : undefined)
  const triggers = own(metadata, 'triggers')
  return {
    id: textOf(own(record, 'id')),
    name: textOf(own(metadata, 'name')),
    description: textOf(own(record, 'description')),
    category: textOf(own(metadata, 'category')),
    requiresConnector: textOf(own(metadata, 'requiresConnector')) ?? null,
    triggers: Array.isArray(triggers) ? triggers : [],
    integrationTrigger: own(metadata, 'integrationTrigger'),
    inputSchema: own(record, 'inputSchema'),
    outputSchema: own(record, 'outputSchema'),
  }
}
