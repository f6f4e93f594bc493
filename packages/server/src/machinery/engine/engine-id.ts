const patterns = {
  run: /^run_[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/,
  invocation: /^inv_1[A-Za-z0-9]{1,100}$/,
  awakeable: /^(?:prom|sign)_1[A-Za-z0-9_-]{1,200}$/,
}

/**
 * An id that becomes part of an address at the engine. Whatever row it was read from, what does not look like one is
 * never sent: it could name another address.
 */
export function engineId(kind: keyof typeof patterns, text: string): string {
  if (!patterns[kind].test(text)) throw new Error(`Not the id of a ${kind} at the engine`)
  return text
}
