import canonicalize from 'canonicalize'

/** One text for one value, whoever writes it (RFC 8785): what is signed, and what a hash of a value is taken of. */
export function canonical(value: unknown): string {
  const text = canonicalize(value)
  if (text === undefined) throw new Error('there is no JSON for this')
  return text
}
