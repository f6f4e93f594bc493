import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { installErrand } from '../../../test/support/executions.ts'
import { app, environmentOf, newHome, newUser, program, run } from './support/guild.ts'
import { openTerminal, type Terminal } from './support/terminal.ts'

let terminal: Terminal | undefined
afterEach(() => {
  terminal?.close()
  terminal = undefined
})

/** How each is set up as `guild help completion` says, and opened. */
const shells: Readonly<Record<string, { file: string; open: string }>> = {
  bash: {
    file: '.local/share/bash-completion/completions/guild',
    open: 'source ~/.local/share/bash-completion/completions/guild',
  },
  zsh: {
    file: '.zfunc/_guild',
    open: 'exec zsh',
  },
  fish: { file: '.config/fish/completions/guild.fish', open: 'exec fish' },
}

/** A shell in which guild is a command and completes. */
async function shellOf(name: string, { home, env }: Awaited<ReturnType<typeof newUser>>): Promise<Terminal> {
  const bin = join(home, 'bin')
  const { file, open } = shells[name] as { file: string; open: string }
  mkdirSync(bin)
  writeFileSync(join(bin, 'guild'), `#!/bin/sh\nexec ${process.execPath} ${program} "$@"\n`)
  chmodSync(join(bin, 'guild'), 0o755)
  mkdirSync(join(home, file, '..'), { recursive: true })
  writeFileSync(
    join(home, '.zshrc'),
    'PS1="$ "; unsetopt PROMPT_SP; fpath=(~/.zfunc $fpath); autoload -U compinit; compinit -u\n',
  )
  mkdirSync(join(home, '.config', 'fish'), { recursive: true })
  writeFileSync(
    join(home, '.config', 'fish', 'config.fish'),
    'set fish_greeting; function fish_prompt; echo "\\$ "; end\n',
  )
  const opened = openTerminal(environmentOf(home, { ...env, PATH: `${bin}:${process.env['PATH']}` }))
  opened.type(`guild completion ${name} > ~/${file}; ${open}`, 'Enter')
  opened.type('clear; echo rea""dy', 'Enter')
  await opened.shows(/^ready/m)
  return opened
}

describe.each(Object.keys(shells))('completion in a real %s', (name) => {
  test('offers the words of a command, and what is in the workspace', async () => {
    const user = await newUser()
    await installErrand(app, user.person)
    const shell = await shellOf(name, user)
    terminal = shell
    const press = async (typed: string, keys: string[], shown: string | RegExp) => {
      shell.type('C-u')
      await shell.clear()
      shell.type('-l', typed)
      shell.type(...keys)
      return shell.shows(shown)
    }
    // The first time is the one at which a script that only defines something does nothing.
    await press('guild whoa', ['Tab'], /guild whoami/)
    await press('guild wf re', ['Tab', 'Tab'], /re(run|sume)\b[\s\S]*re(run|sume)\b/)
    await press('guild skills show err', ['Tab'], 'guild skills show errand')
    await press('guild run errand --max', ['Tab'], 'guild run errand --max-cost')
    // Where guild offers nothing, the shell offers files.
    writeFileSync(join(user.home, 'orders-of-may.csv'), '')
    await press(`guild run errand x --attach ${user.home}/orders`, ['Tab'], 'orders-of-may.csv')
  })
})

describe('what is offered', () => {
  test('is nothing that a shell would run', async () => {
    const server = createServer((_, response) => {
      const skills = ['fine', '$(touch pwned)', 'a b', '`id`', "x';id;'", '~/x', '*'].map((slug) => ({
        slug,
      }))
      response.setHeader('content-type', 'application/json').end(JSON.stringify({ items: skills }))
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as AddressInfo
    const env = { GUILD_BASE_URL: `http://127.0.0.1:${port}`, GUILD_API_KEY: 'guild_live_x' }
    const offered = await run(newHome(), ['__complete', 'skills', 'show', ''], { env })
    server.close()
    expect(offered.stdout.split('\n').map((line) => line.split('\t')[0])).toEqual(['fine', ''])
  })

  test('is nothing where there is no key, and nothing that a terminal obeys', async () => {
    const user = await newUser()
    expect(await run(user.home, ['__complete', 'skills', 'show', ''])).toMatchObject({
      code: 0,
      stdout: '',
      stderr: '',
    })
    const offered = await run(user.home, ['__complete', 'wf', 're'])
    expect(offered.stdout.split('\n').map((line) => line.split('\t')[0])).toEqual(['resume', 'rerun', ''])
  })
})
