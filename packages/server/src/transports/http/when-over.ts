import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

const open = new WeakMap<Socket, Set<() => void>>()

/**
 * Acts once when an answer is over, or at once when it is: its connection may have gone while something was waited for.
 * The connection is asked too, because of what is sent over it in one go Node tells only the first of its end.
 */
export function whenOver(response: ServerResponse, act: () => void): void {
  const { socket } = response.req
  if (response.closed || socket.destroyed) {
    act()
    return
  }
  const acts = open.get(socket) ?? watch(socket)
  const over = () => {
    if (acts.delete(over)) act()
  }
  acts.add(over)
  response.once('close', over)
}

function watch(socket: Socket): Set<() => void> {
  const acts = new Set<() => void>()
  open.set(socket, acts)
  socket.once('close', () => {
    for (const over of acts) over()
  })
  return acts
}
