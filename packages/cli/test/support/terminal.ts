import { execFileSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { until } from './guild.ts'

/** A real terminal: tmux holds it, and we look at its screen and press its keys. */
export interface Terminal {
  screen: () => string
  type: (...keys: string[]) => void
  shows: (text: string | RegExp, withinMs?: number) => Promise<string>
  /** Empties the screen, and waits for that: what stood there must not be taken for what comes. */
  clear: () => Promise<void>
  close: () => void
}

export function openTerminal(
  environment: Readonly<Record<string, string>>,
  columns = 110,
  rows = 60,
): Terminal {
  const socket = `guild-${randomUUID()}`
  const tmux = (...args: string[]) =>
    execFileSync('tmux', ['-u', '-L', socket, '-f', '/dev/null', ...args], {
      encoding: 'utf8',
      env: { ...environment, TERM: 'xterm-256color' },
    })
  const size = ['-x', String(columns), '-y', String(rows)]
  const folder = environment['HOME'] ?? '/'
  tmux('new-session', '-d', ...size, '-c', folder, 'env PS1="$ " bash --norc --noprofile')
  const screen = () => tmux('capture-pane', '-p', '-J')
  const type = (...keys: string[]) => {
    tmux('send-keys', ...keys)
  }
  const shows = (text: string | RegExp, withinMs = 30_000) =>
    until(() => {
      const now = screen()
      return (typeof text === 'string' ? now.includes(text) : text.test(now)) ? now : undefined
    }, withinMs).catch(() => {
      throw new Error(`the screen never showed ${text}:\n${screen()}`)
    })
  return {
    screen,
    type,
    shows,
    clear: async () => {
      type('clear', 'Enter')
      await shows(/^\$\s*$/)
    },
    close: () => {
      tmux('kill-server')
    },
  }
}
