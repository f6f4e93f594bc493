import type { Output } from '../output/output.ts'

/** What an agent says, shown to people as it comes: pieces first, then the whole, which counts. */
export class Message {
  readonly #out: Output
  #written = ''

  constructor(out: Output) {
    this.#out = out
  }

  piece(text: string): void {
    if (!this.#out.forPeople) return
    this.#written += text
    this.#out.piece(text)
  }

  /** What was shown of it already is not shown again. */
  whole(text: string): void {
    if (!this.#out.forPeople) return
    const rest = text.startsWith(this.#written) ? text.slice(this.#written.length) : `\n${text}`
    this.#out.piece(`${rest}\n`)
    this.#written = ''
  }

  end(): void {
    if (this.#written !== '') this.#out.piece('\n')
    this.#written = ''
  }
}
