/**
 * One test for two questions. The gate asks whether it is right: at the smallest size that can fail, and by no clock,
 * because the machine may be half taken away. A proof (`PROOF=1`) asks whether it holds at its size and in its time.
 */
export const isProof = process.env['PROOF'] === '1'

/** How many histories, faults, rows or streams. */
export function atSize(gate: number, proof: number): number {
  return isProof ? proof : gate
}

/** How long to wait for what comes by itself. A limit of the gate is there for what never comes, not for what is slow. */
export function patienceFor(ms: number): number {
  return isProof ? ms : Math.max(3 * ms, 20_000)
}
