/**
 * Of calls that somebody waits for, over two minutes of them. What still fails then is put aside by the engine, and tended
 * to from there: it is tried again, and in the end ended with its run. So the last attempt is never the end of the story.
 */
export const attempts = {
  maxInterval: 2000,
  exponentiationFactor: 2,
  maxAttempts: 70,
  onMaxAttempts: 'pause',
} as const
