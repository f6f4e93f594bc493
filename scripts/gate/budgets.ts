/** What a feature may cost. Wall time is told; only CPU time, which the weather does not change, is judged. */
export const budgets = {
  gateMs: 12 * 60_000,
  fileMs: 20_000,
  testMs: 10_000,
  /** Three times a file's budget. */
  fileCpuMs: 60_000,
  /** Longer than any test or hook may take: who says nothing for so long is hung, in a way that vitest cannot end. */
  silentMs: 8 * 60_000,
}
