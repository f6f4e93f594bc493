import type { Counts, Turn } from './redact.ts'

/** A trace as it is described by its own route; more fields are written as they are. */
export interface ExportedTrace {
  readonly id: string
  readonly title: string
  readonly status: string
  readonly actor: {
    readonly userId: string
    readonly apiKeyId: number | null
    readonly agentSlug: string | null
  }
  readonly totalCost: number
  readonly startedAt: string
  readonly lastActivityAt: string
  readonly traceKey: string
}

/** One format. Called in order; what it gives back is written at once, so that nothing grows with the trace. */
export interface TraceWriter {
  begin(trace: ExportedTrace): string
  turn(turn: Turn): string
  end(counts: Counts | undefined): string
}
