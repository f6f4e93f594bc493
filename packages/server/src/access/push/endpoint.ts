import { type Destination, readDestination } from '#platform/address-rules.ts'
import type { PushSettings } from '#platform/push-settings.ts'

/** Where a browser says that it is written to: only at a push service that is known here, whatever else it names. */
export function readEndpoint(
  { hosts, allow }: Pick<PushSettings, 'hosts' | 'allow'>,
  text: string,
): Destination | undefined {
  const destination = readDestination(text, allow)
  if (destination?.url.hash !== '') return undefined
  const isKnown = hosts.some((pattern) =>
    pattern.startsWith('*.') ? destination.host.endsWith(pattern.slice(1)) : destination.host === pattern,
  )
  return destination.exempt || isKnown ? destination : undefined
}
