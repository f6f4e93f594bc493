import type { CallOptions, Client } from './client.ts'
import { errorOf } from './error-reader.ts'
import { ConnectionError } from './errors.ts'
import { textOf } from './exchange.ts'
import type { AnyCall } from './operation.ts'
import { wasNeverSent } from './retry.ts'

/** Opens an address that is its own credential; it may be on another host, so nothing of ours goes with it. */
export async function openSigned(
  client: Client,
  operation: string,
  url: string,
  accept: string,
  signal: AbortSignal | undefined,
): Promise<Response> {
  const init = { headers: { accept }, redirect: 'manual' as const, ...(signal && { signal }) }
  const response = await client.fetch(url, init).catch((error: unknown) => {
    signal?.throwIfAborted()
    // The address is a secret for a while, and a runtime may quote it.
    throw new ConnectionError(
      `${operation}: the address cannot be opened`,
      wasNeverSent(error) ? 'unsent' : 'unknown',
    )
  })
  if (response.ok) return response
  const { status, headers } = response
  throw errorOf({ status, headers, operation, text: await textOf(response) })
}

/** A file by the address that an answer names. Only our own server is shown the credential. */
export async function download(client: Client, url: string, options?: CallOptions): Promise<Response> {
  const name = 'download'
  const path = url.startsWith(`${client.baseUrl}/`) ? url.slice(client.baseUrl.length) : url
  if (!path.startsWith('/')) return openSigned(client, name, url, '*/*', options?.signal)
  const operation = { name, path: path.replaceAll(':', '%3A'), answers: 'file' } as const
  return client.call<AnyCall, Response>(operation, {}, options)
}
