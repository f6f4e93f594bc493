/** What a thread is told, as a workflow that ended would have it. */
export const notice = (key: string, revision = 0) => ({
  kind: 'workflow.completed',
  source: 'workflow',
  priority: 'medium' as const,
  summary: `Happened: ${key}`,
  payload: { any: key },
  dedupeKey: key,
  revision,
})
