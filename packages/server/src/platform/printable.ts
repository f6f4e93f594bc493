const notPrintable = /(?:[^\p{L}\p{M}\p{N}\p{P}\p{S} ]|\p{DI})+/gu

/** What somebody else says, to be shown to a person: nothing hidden, nothing that turns the direction, and not long. */
export function toPrintable(text: string, maxLength: number): string {
  return [...text.replace(notPrintable, ' ').trim()].slice(0, maxLength).join('')
}
