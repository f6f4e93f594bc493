import { codeLength } from './code.ts'

/** A code as a device shows it, symbol by symbol. */
export function CodeBoxes({ symbols }: { symbols: string }) {
  return Array.from({ length: codeLength }, (_, index) => {
    const state = index < symbols.length ? 'full' : index === symbols.length ? 'next' : 'empty'
    return [
      index === codeLength / 2 && <i key="hyphen" aria-hidden="true" />,
      // biome-ignore lint/suspicious/noArrayIndexKey: the boxes are places
      <span key={index} data-state={state} aria-hidden="true">
        {symbols.charAt(index)}
      </span>,
    ]
  })
}
