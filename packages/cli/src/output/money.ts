/** Exact, as the server gives it, with its unit. */
export function money(amount: number | null | undefined): string {
  return amount === null || amount === undefined ? '–' : `${amount} Ds`
}
