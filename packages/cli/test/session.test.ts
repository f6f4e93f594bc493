import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, expect, test } from 'vitest'
import { bash, installErrand, script } from '../../../test/support/executions.ts'
import { app, baseUrl, environmentOf, newHome, program } from './support/guild.ts'
import { openTerminal, type Terminal } from './support/terminal.ts'

const page = fileURLToPath(new URL('../../../docs/cli-session.md', import.meta.url))
let terminal: Terminal | undefined
afterAll(() => terminal?.close())

/** What differs from one time to the next is written as in a house that stands for all. */
function told(screen: string, code: string): string {
  return screen
    .replaceAll(baseUrl, 'https://guild.example')
    .replaceAll(code, 'K7QM-4TXR')
    .replaceAll(hostname(), 'rita-laptop')
    .replace(/ {2}[█▀▄ ]{20,}(\n {2}[█▀▄ ]{20,})+/, '  (the same address as a QR code)')
    .replace(/exec_[\w-]+/g, 'exec_8fk2')
    .replace(/\b[0-9a-f]{8}-[0-9a-f-]{27}\b/g, '0f6b2c1e-52a1-4d0e-9a53-7b1c4be0a911')
    .replace(/guild_live_\w+/g, 'guild_live_Ab12Cd')
    .replace(/key \d+ /g, 'key 12 ')
    .replace(/in \d+(\.\d+)? ?m?s/g, 'in 3 s')
    .replace(/\d+s ago/g, '4s ago')
    .replace(/[\d.]+ Ds/g, '2.4 Ds')
    .replace(/^(ID|exec_8fk2) .*$/gm, (line) => line.replace(/ {2,}/g, '  '))
    .replace(/ +$/gm, '')
    .trim()
}

/** The picture in docs/ is a recording: made anew with `vitest -u`, and compared at every other time. */
test('a session in a real terminal goes as docs/cli-session.md shows it', async () => {
  const person = await app.newPerson()
  await installErrand(app, person)
  const home = newHome()
  const bin = join(home, 'bin')
  mkdirSync(bin)
  writeFileSync(join(bin, 'guild'), `#!/bin/sh\nexec ${process.execPath} ${program} "$@"\n`)
  chmodSync(join(bin, 'guild'), 0o755)
  const ask = script(
    {
      say: 'I will look at the orders first.',
      tools: [bash('mkdir -p output && echo "# Orders" > output/report.md')],
    },
    { say: 'The report is in output/report.md.' },
  )
  terminal = openTerminal(environmentOf(home, { PATH: `${bin}:${process.env['PATH']}`, ASK: ask }), 100, 70)
  // What is typed before there is a prompt is seen twice.
  await terminal.shows(/^\$\s*$/)
  const parts: string[] = []
  const typed = async (line: string, until: string | RegExp) => {
    terminal?.type(line, 'Enter')
    return (await terminal?.shows(until)) ?? ''
  }
  const waiting = await typed(`guild login ${baseUrl} --scopes run`, 'Waiting for a person')
  const code = /Code\s+(\S+)/.exec(waiting)?.[1] ?? ''
  await app.call('POST', '/api/v1/activate/confirm', { token: person.token, body: { code, access: 'full' } })
  parts.push(await terminal.shows(/It may use.*\n\$\s*$/))
  for (const line of ['guild whoami', 'guild run errand "$ASK" -o out', 'ls out/*', 'guild exec list']) {
    await terminal.clear()
    terminal.type(line, 'Enter')
    parts.push(await terminal.shows(/^\$ \S[\s\S]*\n\$\s*$/))
  }
  const text = parts.map((part) => told(part.replace(/\n\$\s*$/, ''), code)).join('\n')
  await expect(
    `# A session with guild\n\nMade from a real terminal by a test, which fails when it goes otherwise.\n\n\`\`\`text\n${text}\n\`\`\`\n`,
  ).toMatchFileSnapshot(page)
})
