import { mkdtempSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ApiError } from '#operations/errors.ts'
import type { Outbound } from '#platform/outbound.ts'
import {
  type Authority,
  type Behaviour,
  type GitServer,
  makeAuthority,
  openGitServer,
} from '../../../../../test/support/git-servers.ts'

export const skillText = '---\nname: greeter\ndescription: Greets people when asked to.\n---\nSay hello.\n'
export const never = new AbortController().signal

/** A world outside on loopback: repositories and whatever else a test answers, at `repo.test`, which is let in. */
export interface Outside {
  root: string
  authority: Authority
  server: GitServer
  url: string
  outbound: Outbound
  close(): Promise<void>
}

export async function openOutside(behave?: Behaviour): Promise<Outside> {
  const root = mkdtempSync(join(tmpdir(), 'guildhall-outside-'))
  const authority = makeAuthority(root, ['repo.test'])
  const server = await openGitServer({ root, authority, ...(behave ? { behave } : {}) })
  const outbound: Outbound = {
    allow: [`repo.test:${server.port}`],
    allowCaFile: authority.caFile,
    timeoutMs: 20_000,
    answerWithinMs: 20_000,
    resolve: resolveFrom({ 'repo.test': ['127.0.0.1'] }),
  }
  const close = async () => {
    await server.close()
    await rm(root, { recursive: true, force: true })
  }
  return { root, authority, server, url: `https://repo.test:${server.port}`, outbound, close }
}

/** Names that exist in a test and what they stand for; a name that is an address stands for itself. */
export function resolveFrom(names: Record<string, readonly string[]>): Outbound['resolve'] {
  return async (host) => {
    const found = names[host] ?? (/^[\d.]+$|:/.test(host) ? [host] : undefined)
    if (!found) throw Object.assign(new Error(`${host} is not known`), { code: 'ENOTFOUND' })
    return found
  }
}

/** What a fetch was refused with; a fetch that went well is an error of the test. */
export async function refusalOf(fetched: Promise<unknown>): Promise<ApiError> {
  const outcome = await fetched.then(
    (value) => value,
    (error: unknown) => error,
  )
  if (outcome instanceof ApiError) return outcome
  throw new Error('It was not refused', { cause: outcome })
}
