import type { Config } from '#platform/config.ts'
import type { Deps } from '#platform/deps.ts'
import { checkDestination, OutboundError, requestBounded } from '#platform/outbound.ts'
import type { PushSettings } from '#platform/push-settings.ts'
import { readEndpoint } from './endpoint.ts'
import { composeMessage, topicOf } from './message.ts'
import type { ClaimedMessage } from './outbox-store.ts'
import { sealMessage } from './seal.ts'
import { vapidHeader } from './vapid.ts'

/** What came of one try. */
export type Outcome =
  | { readonly is: 'sent' }
  /** The browser is not told by this address any more. */
  | { readonly is: 'gone' }
  /** `afterSeconds`: when the service said so. */
  | { readonly is: 'later'; readonly afterSeconds: number | undefined }
  /** It would be refused again. */
  | { readonly is: 'refused'; readonly status: number }

const sendWithinMs = 10_000
const answerBytes = 16_384
const longestWaitSeconds = 3600

/** Hands one message to the push service of its browser. */
export async function deliver(
  { config, outbound }: { config: Pick<Config, 'appUrl'>; outbound: Deps['outbound'] },
  push: PushSettings,
  message: ClaimedMessage,
): Promise<Outcome> {
  const endpoint = readEndpoint(push, message.endpoint)
  const authorization = vapidHeader(push, {
    version: message.vapidVersion,
    origin: message.origin,
    now: Date.now(),
  })
  if (!endpoint || !authorization) return { is: 'refused', status: 0 }
  try {
    const reached = { ...outbound, allow: push.allow }
    const signal = AbortSignal.timeout(sendWithinMs)
    const destination = await checkDestination(reached, endpoint.url.href, signal)
    const { status, headers } = await requestBounded(reached, destination, {
      method: 'POST',
      headers: {
        authorization,
        'content-encoding': 'aes128gcm',
        'content-type': 'application/octet-stream',
        ttl: String(message.leftSeconds),
        topic: topicOf(message),
        urgency: message.kind === 'asked' || message.kind === 'reset' ? 'high' : 'normal',
      },
      body: sealMessage(composeMessage(config, message), message),
      maxBytes: answerBytes,
      signal,
    })
    return outcomeOf(status, headers['retry-after'])
  } catch (error) {
    if (!(error instanceof OutboundError)) throw error
    return error.kind === 'refused' ? { is: 'refused', status: 0 } : { is: 'later', afterSeconds: undefined }
  }
}

function outcomeOf(status: number, retryAfter: string | undefined): Outcome {
  if (status >= 200 && status < 300) return { is: 'sent' }
  if (status === 404 || status === 410) return { is: 'gone' }
  if (status !== 429 && status < 500) return { is: 'refused', status }
  const seconds = /^\d{1,9}$/.test(retryAfter ?? '')
    ? Number(retryAfter)
    : (Date.parse(retryAfter ?? '') - Date.now()) / 1000
  const isTold = Number.isFinite(seconds)
  return {
    is: 'later',
    afterSeconds: isTold ? Math.min(Math.max(seconds, 1), longestWaitSeconds) : undefined,
  }
}
