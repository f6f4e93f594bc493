/**
 * Starts several things at once. When one fails the others are told to give up and are waited for, so that
 * nothing is still starting when the caller cleans up. Throws the failure, not the giving up it caused.
 */
export async function together(
  signal: AbortSignal | undefined,
  start: (signal: AbortSignal) => Promise<unknown>[],
): Promise<void> {
  const giveUp = new AbortController()
  const errors: unknown[] = []
  const either = signal ? AbortSignal.any([signal, giveUp.signal]) : giveUp.signal
  await Promise.all(
    start(either).map((promise) =>
      promise.catch((error) => {
        errors.push(error)
        giveUp.abort()
      }),
    ),
  )
  if (errors.length > 0) throw errors[0]
}
