import { spawn } from 'node:child_process'
import { type Environment, withoutSecrets } from './places.ts'

/** Whether a browser could open here: not over SSH, not without a display. */
export function canOpenBrowser(environment: Environment): boolean {
  if (environment['GUILD_BROWSER'] || environment['BROWSER']) return true
  if (environment['SSH_CONNECTION'] || environment['SSH_TTY']) return false
  if (process.platform === 'linux') return Boolean(environment['DISPLAY'] || environment['WAYLAND_DISPLAY'])
  return true
}

/** Opens an http(s) address, without a shell, and does not wait. A failure is no failure: the address is on screen. */
export function openBrowser(address: string, environment: Environment): void {
  const url = new URL(address)
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return
  const named = environment['GUILD_BROWSER'] || environment['BROWSER']
  const [program, args] = named
    ? [named, [url.href]]
    : process.platform === 'darwin'
      ? ['open', [url.href]]
      : process.platform === 'win32'
        ? ['rundll32', ['url.dll,FileProtocolHandler', url.href]]
        : ['xdg-open', [url.href]]
  const child = spawn(program, args, { stdio: 'ignore', detached: true, env: withoutSecrets(environment) })
  child.on('error', () => {})
  child.unref()
}
