import { createHash } from 'node:crypto'
import { type SandboxConfig, SandboxError } from './port.ts'

/** An id becomes the name of a folder and of a group. */
export function isId(id: string): boolean {
  return /^[A-Za-z0-9][A-Za-z0-9-]{0,79}$/.test(id)
}

export function checkId(id: string): string {
  if (isId(id)) return id
  throw new SandboxError('refused', `"${id}" cannot be the id of a sandbox`)
}

/**
 * The first one of the range is left free for the OCI runtimes. Two sandboxes may come to the same user, which costs
 * one of several walls between them: neither can see the other's processes or files anyway.
 */
export function uidOf(id: string, { first, count }: SandboxConfig['uids']): number {
  return first + 1 + (createHash('sha256').update(id).digest().readUInt32BE(0) % Math.max(1, count - 1))
}
