import { setTimeout as sleep } from 'node:timers/promises'

const mostAttempts = 10

/**
 * Sends again what a process without a free connection told to come back, as clients should. A test that counts
 * what was written shows that nothing was written the first time.
 */
export async function patiently<T extends { status: number; headers: Headers }>(
  send: () => Promise<T>,
  onTurnedAway: () => void = () => {},
): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    const answer = await send()
    if (answer.status !== 503 || attempt === mostAttempts) return answer
    onTurnedAway()
    await sleep(Number(answer.headers.get('retry-after')) * 1000)
  }
}
