import { totalmem } from 'node:os'
import type { Attempt } from './sandbox-settings.ts'
import { readCount } from './setting-readers.ts'

/** How long a client may keep the service waiting, and how much the service holds meanwhile. */
export interface ClientSettings {
  /** From the first moment of a connection, or of the next request on it, to the end of its headers. */
  readonly headersMs: number
  /** For a body, and beside it a second for each 64 KiB of it that came. */
  readonly bodyMs: number
  /** In so long a while of an answer that is on its way at least 64 KiB a second have to be taken. */
  readonly unreadMs: number
  /** How many small requests of one caller are worked on at a time, and how long one counts while others of it wait. */
  readonly turns: { readonly places: number; readonly turnMs: number }
  /** Bytes of bodies and answers under way. */
  readonly held: HeldShares
}

/** Bytes of one credential, of all credentials of one person, from one address, and in all. */
interface HeldShares {
  readonly perCredential: number
  readonly perPerson: number
  readonly perAddress: number
  readonly inAll: number
}

const mebibyte = 1024 * 1024
/** A little more than the largest body: whatever the memory, everybody can send that. */
const largestBody = 16 * mebibyte
/** Of what the process may use: the rest is for the work itself, which takes several times the bytes of a body. */
const shareOfMemory = 1 / 8

/** Many have to come together to fill all of it, however small it is: whoever is alone has a part. */
function readHeld(attempt: Attempt): HeldShares {
  const inAll = attempt('HELD_BYTES', readCount, Math.floor(memoryBytes() * shareOfMemory))
  const part = (most: number, parts: number) =>
    Math.max(Math.min(most * mebibyte, Math.floor(inAll / parts)), Math.min(largestBody, inAll))
  return {
    perCredential: attempt('HELD_BYTES_PER_CREDENTIAL', readCount, part(64, 16)),
    perPerson: attempt('HELD_BYTES_PER_PERSON', readCount, part(128, 8)),
    perAddress: attempt('HELD_BYTES_PER_ADDRESS', readCount, part(256, 4)),
    inAll,
  }
}

export function readClients(attempt: Attempt): ClientSettings {
  return {
    headersMs: attempt('HEADERS_MS', readCount, 10_000),
    bodyMs: attempt('BODY_MS', readCount, 30_000),
    unreadMs: attempt('UNREAD_MS', readCount, 30_000),
    turns: {
      places: attempt('REQUESTS_AT_A_TIME', readCount, 8),
      turnMs: attempt('TURN_MS', readCount, 250),
    },
    held: readHeld(attempt),
  }
}

function memoryBytes(): number {
  const allowed = process.constrainedMemory()
  return allowed > 0 ? Math.min(allowed, totalmem()) : totalmem()
}
