import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { begin, finish } from '@guildhall/sdk/sign-in'
import { openBrowser } from '../../../../test/support/browser.ts'
import type { Person } from '../../../../test/support/caller.ts'
import { baseUrl } from './guild.ts'

let people = 0

/** Somebody who signs in with a browser, as guild's commands for people want it. */
export async function newBrowsingPerson(): Promise<Person & { name: string }> {
  const name = `browsing-${process.pid}-${++people}@example.test`
  const { url, verifier } = await begin({ baseUrl, redirect: 'http://127.0.0.1:9/done' })
  const browser = openBrowser({ stopAt: 'http://127.0.0.1:9/' })
  let page = await browser.open(url)
  while (page.url.port !== '9') page = await browser.submit(page, { login: name })
  const code = page.url.searchParams.get('code') ?? ''
  const { auth_token, user, current_workspace_id } = await finish({ baseUrl, code, verifier })
  return { token: auth_token, userId: user.id, workspaceId: current_workspace_id, email: name, name }
}

/** The program that opens addresses for them. */
export function browserOf(home: string, { name }: { name: string }): string {
  const path = join(home, 'browser')
  const program = fileURLToPath(new URL('browser-program.ts', import.meta.url))
  writeFileSync(path, `#!/bin/sh\nexec ${process.execPath} ${program} ${name} "$1"\n`)
  chmodSync(path, 0o755)
  return path
}
