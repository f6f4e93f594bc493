/** A task is an execution or a run, and nothing is kept of it beside that. */
export interface TaskRef {
  readonly kind: 'execution' | 'run'
  readonly id: string
}

export function taskIdOf({ kind, id }: TaskRef): string {
  return `${kind}.${id}`
}

export function readTaskId(text: unknown): TaskRef | undefined {
  const match = typeof text === 'string' ? /^(execution|run)\.(.{1,100})$/.exec(text) : null
  return match ? { kind: match[1] as TaskRef['kind'], id: match[2] ?? '' } : undefined
}
