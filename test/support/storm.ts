import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

interface StormRequest {
  readonly method: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
}

export interface Storm {
  /** The same so many times at once; gives how often each status came, with what was not answered by its code. */
  send(request: StormRequest, times: number): Promise<Readonly<Record<string, number>>>
  close(): void
}

/** Sends from a process of its own: what a storm costs whoever makes it is not measured. */
export function openStorm(): Storm {
  const child = fork(fileURLToPath(import.meta.url), { serialization: 'advanced' })
  return {
    send: async (request, times) => {
      child.send({ request, times })
      const [statuses] = await once(child, 'message')
      return statuses as Readonly<Record<string, number>>
    },
    close: () => child.disconnect(),
  }
}

async function send({ url, ...request }: StormRequest): Promise<string> {
  try {
    const answer = await fetch(url, { ...request, redirect: 'manual' })
    // Every byte is taken, and none of it is looked at.
    for await (const _part of answer.body ?? []);
    return String(answer.status)
  } catch (error) {
    return (error as { cause?: { code?: string } }).cause?.code ?? String(error)
  }
}

if (process.send && process.argv[1] === fileURLToPath(import.meta.url)) {
  process.on('disconnect', () => process.exit())
  process.on('message', async ({ request, times }: { request: StormRequest; times: number }) => {
    const statuses: Record<string, number> = {}
    const sent = Array.from({ length: times }, () => send(request))
    for (const status of await Promise.all(sent)) statuses[status] = (statuses[status] ?? 0) + 1
    process.send?.(statuses)
  })
}
