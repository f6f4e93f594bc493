/** A body as bytes, so that every attempt sends the same ones. */
export interface Bytes {
  readonly init: { readonly body?: Uint8Array<ArrayBuffer> }
  readonly type?: string
}

/** JSON, or a form with its files. */
export async function bytesOf(body: unknown): Promise<Bytes> {
  if (body === undefined) return { init: {} }
  const isForm = body instanceof FormData
  const coded = new Response(isForm ? body : JSON.stringify(body))
  const type = isForm ? (coded.headers.get('content-type') ?? '') : 'application/json'
  return { init: { body: new Uint8Array(await coded.arrayBuffer()) }, type }
}

/** Pages that are not served securely lack `randomUUID`. */
export function randomId(): string {
  return crypto.randomUUID?.() ?? crypto.getRandomValues(new Uint32Array(4)).join('-')
}
