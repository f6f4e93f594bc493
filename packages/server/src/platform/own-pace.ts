import type { ServerResponse } from 'node:http'

/** Answers that stay open until there is something to say, and end a reader who does not listen in a way of their own. */
export const atOwnPace = new WeakSet<ServerResponse>()
