import type { Client } from '#operations/bind.ts'

const labelLength = 64
const userAgentLength = 256
/** Letters, digits, punctuation and plain blanks; nothing that hides, reorders or breaks what a person reads. */
const printable = /^(?:(?!\p{DI})[\p{L}\p{M}\p{N}\p{P}\p{S} ])+$/u
const notPrintable = /(?:[^\p{L}\p{M}\p{N}\p{P}\p{S} ]|\p{DI})+/gu

/** What the approver is shown of the pairing client. All of it is the client's own claim but for the address. */
export function clientFacts(client: Client): { label: string; userAgent: string; address: string } {
  const userAgent = client.userAgent.replace(notPrintable, ' ').trim().slice(0, userAgentLength)
  return { label: labelOf(client.label, userAgent), userAgent, address: client.address }
}

/** A header label that is not plain text is not mended but ignored: it was made to mislead. */
function labelOf(claimed: string | undefined, userAgent: string): string {
  const text = claimed === undefined ? '' : Buffer.from(claimed, 'latin1').toString('utf8').trim()
  if (text !== '' && [...text].length <= labelLength && printable.test(text)) return text
  const product = /^[^\s/(]+/.exec(userAgent)?.[0]
  return product ? [...product].slice(0, labelLength).join('') : 'Unknown client'
}
