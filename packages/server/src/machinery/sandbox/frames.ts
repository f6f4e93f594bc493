/** What the worker and a sandbox's first process say to each other: two lengths, a JSON head, a body. */
export interface Frame {
  head: Record<string, unknown>
  body: Uint8Array
}

const lengthsBytes = 8
const maxHeadBytes = 4 * 1024 * 1024

export function encodeFrame(
  head: Record<string, unknown>,
  body: Uint8Array = new Uint8Array(),
): Uint8Array[] {
  const text = Buffer.from(JSON.stringify(head))
  const lengths = Buffer.alloc(lengthsBytes)
  lengths.writeUInt32BE(text.length, 0)
  lengths.writeUInt32BE(body.length, 4)
  return [lengths, text, body]
}

/**
 * Puts frames together from chunks. What comes from a sandbox is not trusted: a length beyond what the worker asked for
 * throws before anything of that size is kept.
 */
export function createFrameReader(maxBodyBytes: () => number): (chunk: Buffer) => Frame[] {
  let chunks: Buffer[] = []
  let heldBytes = 0

  /** One buffer, copied only when there is more than one: large bodies arrive in thousands of chunks. */
  const join = (): Buffer => {
    const [only = Buffer.alloc(0), ...more] = chunks
    const joined = more.length === 0 ? only : Buffer.concat(chunks)
    chunks = [joined]
    return joined
  }

  const measureNext = () => {
    if (heldBytes < lengthsBytes) return undefined
    const start = (chunks[0]?.length ?? 0) < lengthsBytes ? join() : (chunks[0] ?? join())
    const headBytes = start.readUInt32BE(0)
    const bodyBytes = start.readUInt32BE(4)
    if (headBytes > maxHeadBytes || bodyBytes > maxBodyBytes()) {
      throw new Error('The sandbox answered more than was asked for')
    }
    return { bodyAt: lengthsBytes + headBytes, end: lengthsBytes + headBytes + bodyBytes }
  }

  return (chunk) => {
    chunks.push(chunk)
    heldBytes += chunk.length
    const frames: Frame[] = []
    for (let next = measureNext(); next && heldBytes >= next.end; next = measureNext()) {
      const all = join()
      frames.push({
        head: parseHead(all.subarray(lengthsBytes, next.bodyAt)),
        body: all.subarray(next.bodyAt, next.end),
      })
      chunks = [all.subarray(next.end)]
      heldBytes = all.length - next.end
    }
    return frames
  }
}

function parseHead(bytes: Buffer): Record<string, unknown> {
  const head: unknown = JSON.parse(bytes.toString())
  if (typeof head !== 'object' || head === null)
    throw new Error('The sandbox answered something without a head')
  return head as Record<string, unknown>
}
