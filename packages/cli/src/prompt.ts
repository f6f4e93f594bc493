import { createInterface } from 'node:readline/promises'
import { Writable } from 'node:stream'

/** Plain lines on stderr, so that screen readers and logs can follow, and stdout stays data. */
export async function askLine(question: string, signal: AbortSignal): Promise<string> {
  const lines = createInterface({ input: process.stdin, output: process.stderr })
  try {
    return (await lines.question(question, { signal })).trim()
  } finally {
    lines.close()
  }
}

export async function confirm(question: string, signal: AbortSignal, otherwise = false): Promise<boolean> {
  const answer = (await askLine(`${question} ${otherwise ? '[Y/n]' : '[y/N]'} `, signal)).toLowerCase()
  return answer === '' ? otherwise : answer === 'y' || answer === 'yes'
}

/** Typed without an echo: a secret must not stay on the screen. */
export async function askHidden(question: string, signal: AbortSignal): Promise<string> {
  process.stderr.write(question)
  const mute = new Writable({ write: (_chunk, _encoding, done) => done() })
  const lines = createInterface({ input: process.stdin, output: mute, terminal: true })
  try {
    return (await lines.question('', { signal })).trim()
  } finally {
    lines.close()
    process.stderr.write('\n')
  }
}

/** Everything that comes on stdin, up to a limit; undefined when it is more. */
export async function readStdin(maxBytes: number): Promise<Buffer | undefined> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of process.stdin) {
    chunks.push(Buffer.from(chunk))
    bytes += chunk.length
    if (bytes > maxBytes) return undefined
  }
  return Buffer.concat(chunks)
}
