import { join } from 'node:path'
import { type Environment, stateFolder } from '../places.ts'
import { readPrivate, removePrivate, writePrivate } from './private-files.ts'

/** A pairing between its two steps. The device code is a secret: whoever has it gets the key. */
export interface PendingLogin {
  baseUrl: string
  profile: string
  storage: 'keyring' | 'file'
  label: string
  scopes: readonly string[]
  deviceCode: string
  userCode: string
  verificationUrl: string
  verificationUrlComplete: string
  intervalSeconds: number
  expiresAt: string
}

const pathOf = (environment: Environment) => join(stateFolder(environment), 'pending-login.json')

export function readPending(environment: Environment): PendingLogin | undefined {
  const text = readPrivate(pathOf(environment), () => {})
  return text === undefined ? undefined : JSON.parse(text)
}

export function writePending(environment: Environment, pending: PendingLogin): void {
  writePrivate(pathOf(environment), `${JSON.stringify(pending)}\n`)
}

export function removePending(environment: Environment): void {
  removePrivate(pathOf(environment))
}
