/**
 * One reply of the model, as a script says it. A person's text that holds
 *
 *     ```script
 *     { "steps": [ { "say": "Looking.", "tools": [{ "name": "bash", "input": { "command": "ls" } }] }, { "say": "Done." } ] }
 *     ```
 *
 * decides all replies up to the next text of a person.
 */
export interface Step {
  say?: string
  think?: string
  tools?: { name: string; input: unknown }[]
  /** The structured output; takes the place of `say`. */
  object?: unknown
  /** Before the first byte. */
  delayMs?: number
  /** Between two pieces of a streamed reply. */
  chunkDelayMs?: number
  /** How often `say` is said. */
  repeatText?: number
  /** Told instead of an estimate. */
  usage?: { input: number; output: number }
  fail?: Failure
  /** Does what the tools gave last says, when there is a script in it: a model that believes whatever it reads. */
  obey?: boolean
}

export interface Failure {
  /** `drop` breaks the connection half-way; `cut` ends the stream there as if it were complete. */
  status: number | 'drop' | 'cut'
  /** How many equal requests in a row fail; 1 if left out. */
  times?: number
  retryAfterSeconds?: number
  /** Whether the error comes as an event half-way through a streamed reply. */
  midStream?: boolean
}
