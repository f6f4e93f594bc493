/**
 * Reads what the events of a `text/event-stream` carry, from pieces of any size. Comments carry nothing; what is not
 * ended by an empty line is no event. Ours have their place within, so ids are passed over.
 */
export class FrameParser {
  readonly #decoder = new TextDecoder()
  /** The beginning of a line whose end has not come. A frame may be large, and come in many pieces. */
  #begun = ''
  /** Whether the last piece ended with the first half of what may be one line break. */
  #isAfterReturn = false
  #data: string[] = []
  /** How long the server asks to wait before the next opening. */
  retryMs: number | undefined

  push(bytes: Uint8Array): string[] {
    const text = this.#decoder.decode(bytes, { stream: true })
    const frames: string[] = []
    if (text === '') return frames
    let begin = this.#isAfterReturn && text.startsWith('\n') ? 1 : 0
    for (let end = endOfLine(text, begin); end !== -1; end = endOfLine(text, begin)) {
      this.#line(this.#begun + text.slice(begin, end), frames)
      this.#begun = ''
      begin = end + (text.startsWith('\r\n', end) ? 2 : 1)
    }
    this.#begun += text.slice(begin)
    this.#isAfterReturn = text.endsWith('\r')
    return frames
  }

  #line(line: string, frames: string[]): void {
    if (line === '') {
      if (this.#data.length > 0) frames.push(this.#data.join('\n'))
      this.#data = []
      return
    }
    const colon = line.indexOf(':')
    const field = colon === -1 ? line : line.slice(0, colon)
    const value = colon === -1 ? '' : line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1)
    if (field === 'data') this.#data.push(value)
    else if (field === 'retry' && /^\d+$/.test(value)) this.retryMs = Number(value)
  }
}

/** Feeds end most lines; a return before the next of them ends one too. */
function endOfLine(text: string, from: number): number {
  const feed = text.indexOf('\n', from)
  const back = text.slice(from, feed === -1 ? undefined : feed).indexOf('\r')
  return back === -1 ? feed : from + back
}
