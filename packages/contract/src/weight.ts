/** How much of a body is read, and how many JSON values it may hold: what one request can cost before it is understood. */
export interface Weight {
  readonly bytes: number
  readonly values: number
}

const kibibyte = 1024
const ordinary: Weight = { bytes: 256 * kibibyte, values: 5000 }
/** From anybody at all. */
const strangers: Weight = { bytes: 8 * kibibyte, values: 5000 }

/** Texts of the caller's own, which take up to six times their size where a client escapes every character. */
export const longTexts = { bytes: 1024 * kibibyte } as const
/** Any JSON of 100 KB, however it is written: in so much there is room for half as many values. */
export const openInput: Weight = { bytes: 1024 * kibibyte, values: 52_000 }
/** Any JSON of 64 KiB. */
export const openArguments = { values: 34_000 } as const
/** A workflow, which is 256 KiB without its spaces. */
export const openDefinition: Weight = { bytes: 1024 * kibibyte, values: 132_000 }

/** More than the ordinary only where the contract leaves open what is sent. */
export function weightOf({ audience, weight }: { audience: string; weight?: Partial<Weight> }): Weight {
  return { ...(audience === 'public' ? strangers : ordinary), ...weight }
}
