/** What a definition may hold. Everything here is counted before anything costly is done with the definition. */
export const definitionLimits = {
  bytes: 262_144,
  /** Of any nesting in the text; conditions and schemas have tighter limits of their own. */
  depth: 128,
  workflowIdLength: 64,
  entries: 200,
  steps: 500,
  children: 50,
  retries: 10,
  sleepMs: 31_622_400_000,
  mapKeys: 200,
  mapKeyLength: 128,
  mapSteps: 50,
  templateBytes: 32_768,
  conditionDepth: 16,
  conditionNodes: 256,
  setSize: 1000,
  literalLength: 4096,
  issues: 100,
} as const

export const schemaLimits = {
  bytes: 65_536,
  depth: 32,
  enumSize: 1000,
  patternLength: 256,
  /** Instructions of one compiled pattern, and of all patterns of a definition together. */
  patternProgram: 3000,
  patternProgramsTotal: 6000,
} as const

/** What one launch may bring along. */
export const inputLimits = { bytes: 102_400, depth: 128 } as const

/** What a run may grow to; a deployment can set its own. */
export interface RunLimits {
  readonly loopIterations: number
  readonly foreachItems: number
  readonly foreachConcurrency: number
  readonly stepOutputBytes: number
  /** What the run holds at a time: of a loop's body, its latest turn. */
  readonly runBytes: number
  /** What all turns of all its steps put out: each is in the journal, which is read whole at every replay. */
  readonly journalBytes: number
}

export const defaultRunLimits: RunLimits = {
  loopIterations: 1000,
  foreachItems: 1000,
  foreachConcurrency: 20,
  stepOutputBytes: 1_048_576,
  runBytes: 10_485_760,
  journalBytes: 67_108_864,
}
