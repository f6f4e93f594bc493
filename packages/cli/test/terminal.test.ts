import { copyFileSync, existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import type jsqr from 'jsqr'
import { afterEach, describe, expect, test } from 'vitest'
import { installErrand, script } from '../../../test/support/executions.ts'
import { app, baseUrl, dist, environmentOf, newHome, newUser, program } from './support/guild.ts'
import { openTerminal, type Terminal } from './support/terminal.ts'

// Its types say a default export, which its CommonJS gives under another name to modules.
const decode: typeof jsqr.default = createRequire(import.meta.url)('jsqr')

let terminal: Terminal | undefined
afterEach(() => {
  terminal?.close()
  terminal = undefined
})

const guild = (words: string, path = program) => `${process.execPath} ${path} ${words}; echo "exit:$?"`

/** The form in one file, with nothing beside it. */
function standalone(): string {
  const path = join(newHome(), 'guild-standalone.mjs')
  copyFileSync(join(dist, 'guild-standalone.mjs'), path)
  return path
}

/** The code that the blocks on the screen draw: light modules are lit, two of them in a character. */
function readQr(screen: string): string | undefined {
  const lines = screen.split('\n').filter((line) => /[█▀▄]{3}/.test(line))
  const width = Math.max(...lines.map((line) => line.length))
  const scale = 4
  const [columns, rows] = [width * scale, lines.length * 2 * scale]
  const pixels = new Uint8ClampedArray(columns * rows * 4).fill(255)
  for (let y = 0; y < rows; y++) {
    for (let x = 0; x < columns; x++) {
      const line = lines[Math.floor(y / (2 * scale))] ?? ''
      const character = line[Math.floor(x / scale)] ?? ' '
      const upper = Math.floor(y / scale) % 2 === 0
      const lit = character === '█' || character === (upper ? '▀' : '▄')
      pixels.fill(lit ? 255 : 0, (y * columns + x) * 4, (y * columns + x) * 4 + 3)
    }
  }
  return decode(pixels, columns, rows)?.data
}

describe('in a real terminal', () => {
  test.each([
    ['guild', () => program],
    ['guild-standalone.mjs alone', standalone],
  ])(
    '%s: login shows where the key goes, a code and its picture, and ends when a person confirms',
    async (_name, place) => {
      const path = place()
      const person = await app.newPerson()
      const home = newHome()
      terminal = openTerminal(environmentOf(home))
      terminal.type(`cd ${home}`, 'Enter')
      terminal.type('clear; stty -g > before', 'Enter')
      terminal.type(guild(`login ${baseUrl}`, path), 'Enter')
      const screen = await terminal.shows('Waiting for a person')
      const code = /Code\s+(\S+)/.exec(screen)?.[1] ?? ''
      const address = /Open\s+(\S+)/.exec(screen)?.[1] ?? ''
      expect(screen.indexOf('0600')).toBeLessThan(screen.indexOf(code))
      expect(address).toContain(code)
      expect(readQr(screen)).toBe(address)
      await app.call('POST', '/api/v1/activate/confirm', {
        token: person.token,
        body: { code, access: 'full' },
      })
      const done = await terminal.shows('exit:0')
      expect(done).toContain('Paired as "guild on')
      expect(existsSync(join(home, '.config', 'guild', 'credentials.json'))).toBe(true)
      terminal.type('clear; stty -g > after; cmp before after && echo same', 'Enter')
      await terminal.shows('same')
      await terminal.clear()
      terminal.type(guild('whoami', path), 'Enter')
      expect(await terminal.shows('exit:0')).toContain('scopes')
    },
  )

  test('guild run streams its text and is stopped by ^C pressed twice', async () => {
    const user = await newUser()
    await installErrand(app, user.person)
    terminal = openTerminal(
      environmentOf(user.home, {
        ...user.env,
        ASK: script({ say: 'Slowly now. '.repeat(30), chunkDelayMs: 300 }),
      }),
    )
    terminal.type(guild('run errand "$ASK"'), 'Enter')
    await terminal.shows('Slowly now.')
    terminal.type('C-c')
    await terminal.shows('goes on')
    terminal.type('C-c')
    const ended = await terminal.shows(/exit:\d+/)
    expect(ended).toContain('exit:10')
  })
})
