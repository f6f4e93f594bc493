/** What is repeated until the input is long enough, and what stands before and behind it. */
export type Attack = readonly [before: string, repeated: string, behind: string]
