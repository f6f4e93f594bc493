import { type AnyClient, type ClientKind, connectClient } from '../../../../test/support/mcp-clients.ts'
import type { House } from './house.ts'

export { clientKinds } from '../../../../test/support/mcp-clients.ts'

/** Each request to another process, whatever connection it would have had. */
function inTurn(houses: readonly House[]): typeof fetch {
  let turn = 0
  return (input, init) => {
    const url = new URL(input instanceof Request ? input.url : input)
    const house = houses[turn++ % houses.length]
    return fetch(new URL(url.pathname + url.search, house?.url), init)
  }
}

export function connect(
  kind: ClientKind,
  houses: readonly House[],
  key: string,
  onLink: (url: string) => 'accept' | 'decline' = () => 'accept',
): Promise<AnyClient> {
  const url = new URL('/mcp/', houses[0]?.url)
  return connectClient(kind, { url, key, fetch: inTurn(houses), onLink })
}
