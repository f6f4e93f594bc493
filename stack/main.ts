// Signals first, everything else after: what follows is loaded only when a signal can no longer cut it short.
const stopRequest = new AbortController()
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
  // Kept to the end: a second signal while stopping must not end the cleaning up.
  process.on(signal, () => stopRequest.abort(new DOMException(signal, 'AbortError')))
}

// Whoever reads these may be gone before the stack is, which is no reason to leave it half cleaned up.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {})

const { main } = await import('./run.ts')
process.exit(await main(process.argv.slice(2), stopRequest.signal))
