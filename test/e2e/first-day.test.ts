import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, expect, test } from 'vitest'
import { withDeathSignal } from '../../stack/spawn.ts'
import { until } from '../support/processes.ts'
import { desktop, expectNoFaults, openDevice } from './support/app.ts'
import { launchWholeBrowser } from './support/browser.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const section =
  /### See what an agent asks\n([\s\S]*?)\n### /.exec(readFileSync(join(root, 'README.md'), 'utf8'))?.[1] ??
  ''
const agentLines = /<!-- first-agent -->\s*```sh\n([\s\S]*?)```/.exec(section)?.[1] ?? ''
/** What a reader is told to press, in that order. */
const toPress = [...section.matchAll(/\*([^*]+)\*/g)].map(([, name = '']) => name)
const readyWithinMs = 150_000

const children: ChildProcess[] = []
afterEach(async () => {
  for (const child of children.splice(0).filter(({ exitCode }) => exitCode === null)) {
    const ended = once(child, 'close')
    child.kill('SIGTERM')
    await ended
  }
})

/** A program whose words are kept as they come. */
function begin(command: string, args: readonly string[], env: NodeJS.ProcessEnv) {
  const child = spawn(...withDeathSignal('TERM', command, [...args]), {
    cwd: root,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  children.push(child)
  const heard = { text: '' }
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding('utf8').on('data', (text: string) => {
      heard.text += text
    })
  const find = async (what: RegExp, withinMs: number): Promise<string> => {
    await until(() => what.test(heard.text) || child.exitCode !== null, withinMs)
    const [, found] = what.exec(heard.text) ?? []
    if (found === undefined) throw new Error(`${what} was not said:\n${heard.text}`)
    return found
  }
  return { child, heard, find }
}

test('a stranger starts the stack, signs in, pairs an agent and lets it go on, by the words of the README', async () => {
  const stack = begin('npm', ['run', 'stack'], process.env)
  const origin = await stack.find(/Guildhall runs at (http:\/\/localhost:\d+)\n/, readyWithinMs)
  const browser = await launchWholeBrowser()
  try {
    const device = await openDevice(browser, origin, { shape: desktop })
    const { page } = device
    const pressed: string[] = []
    /** As the README calls it: whatever can be pressed and begins with these words. */
    const press = async (name: string) => {
      const named = { name: new RegExp(`^${name}`) }
      await page.getByRole('button', named).or(page.getByRole('link', named)).first().click()
      pressed.push(name)
    }

    await page.goto(origin)
    await press('Continue with Development sign-in')
    await page.locator('input:not([type=hidden])').first().fill('you@example.test')
    await page.locator('button[type=submit], input[type=submit], button').first().click()
    await press('Settings')
    await press('Passkeys')
    await press('Add a passkey')
    await page.getByTestId('passkey-row').waitFor()

    const home = mkdtempSync(join(tmpdir(), 'guild-stranger-'))
    const { PATH } = process.env
    const agent = begin('bash', ['-euo', 'pipefail', '-c', agentLines], {
      PATH,
      HOME: home,
      GUILD_BASE_URL: origin,
    })
    const code = await agent.find(/Code +([A-Z0-9]{4}-[A-Z0-9]{4})/, 20_000)
    await press('Inbox')
    await press('Pair')
    await page.getByRole('textbox').first().pressSequentially(code)
    await press('Look up the code')
    await page.waitForTimeout(lookMs)
    await press('Yes, pair this device')
    await agent.find(/(Paired as)/, 20_000)

    await press('Inbox')
    await page.getByTestId('allow').waitFor()
    await page.waitForTimeout(lookMs)
    await press('Allow for 1 hour')
    const [exitCode] =
      agent.child.exitCode === null ? await once(agent.child, 'close') : [agent.child.exitCode]
    expect(exitCode, agent.heard.text).toBe(0)
    expect(agent.heard.text).toContain('you@example.test')
    expect(pressed).toEqual(toPress)
    expectNoFaults(device)
  } finally {
    await browser.close()
  }
}, 300_000)

/** A yes counts once a card could have been looked at. */
const lookMs = 700
