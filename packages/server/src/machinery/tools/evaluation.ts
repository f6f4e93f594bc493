/** What travels between a worker and the processes that evaluate for it. */
export interface Evaluation {
  readonly expression: string
  readonly data: unknown
  readonly timeoutMs: number
  readonly maxChars: number
}

/** The result as JSON text, or why there is none. */
export type Evaluated = { readonly text: string } | { readonly problem: string }
