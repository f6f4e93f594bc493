import { randomInt } from 'node:crypto'
import { get } from 'node:http'
import type { TestProject } from 'vitest/node'
import { spawnStack } from '../../../stack/client.ts'

declare module 'vitest' {
  interface ProvidedContext {
    baseUrl: string
    /** Null when the suite runs against a deployment that is not ours to disturb. */
    stack: { databaseUrl: string; identityUrl: string } | null
    /** Whether the deployment sees the loopback address a caller chooses, so that each has windows of its own. */
    ownAddresses: boolean
  }
}

/** One deployment for the whole run, with default limits: the given one, or a private stack. */
export async function setup({ provide }: TestProject): Promise<() => Promise<void>> {
  const given = process.env['CONFORMANCE_BASE_URL']
  if (given) {
    const baseUrl = given.replace(/\/+$/, '')
    provide('baseUrl', baseUrl)
    provide('stack', null)
    provide('ownAddresses', await seesAddresses(baseUrl))
    return async () => {}
  }
  const stack = await spawnStack([])
  const { baseUrl, databaseUrl, identityUrl } = stack
  provide('baseUrl', baseUrl)
  provide('stack', { databaseUrl, identityUrl })
  provide('ownAddresses', await seesAddresses(baseUrl))
  return async () => {
    await stack.stop()
  }
}

/** Not so on systems that have 127.0.0.1 alone, nor behind a balancer: there two callers share one window. */
async function seesAddresses(baseUrl: string): Promise<boolean> {
  if (!/^http:\/\/(localhost|127(\.\d+){3})(:|$)/.test(baseUrl)) return false
  const block = `127.${randomInt(1, 255)}.${randomInt(0, 256)}`
  const first = await remainingFrom(baseUrl, `${block}.1`)
  const second = await remainingFrom(baseUrl, `${block}.2`)
  return first !== undefined && first === second
}

function remainingFrom(baseUrl: string, localAddress: string): Promise<unknown> {
  return new Promise((resolve) => {
    get(`${baseUrl}/api/v1/meta`, { localAddress, agent: false }, (answer) => {
      answer.resume()
      resolve(answer.headers['x-ratelimit-remaining'])
    }).once('error', () => resolve(undefined))
  })
}
