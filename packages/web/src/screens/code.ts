export const codeLength = 8

/** People type codes in any case and paste them with whatever is around; these symbols are never in one. */
export function symbolsOf(typed: string): string {
  return typed
    .toUpperCase()
    .replace(/[^A-HJ-NP-Z2-9]/g, '')
    .slice(0, codeLength)
}

/** As the device shows it; undefined while something is missing. */
export function codeOf(symbols: string): string | undefined {
  return symbols.length === codeLength ? `${symbols.slice(0, 4)}-${symbols.slice(4)}` : undefined
}
