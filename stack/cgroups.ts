import { readdirSync, rmdirSync } from 'node:fs'
import { join } from 'node:path'

const root = '/sys/fs/cgroup'

/** A name of its own for each stack: a worker removes what it finds of dead workers, and must find only its own. */
export function cgroupName(): string {
  return `guildhall-${process.pid}`
}

/** Under cgroup v1 every controller has a tree of its own; a group that is still in use stays. */
export function removeCgroups(): void {
  for (const folder of [root, ...childrenOf(root)]) {
    try {
      rmdirSync(join(folder, cgroupName()))
    } catch {
      // Not there, not ours, or not writable: nothing is lost by leaving an empty group.
    }
  }
}

function childrenOf(folder: string): string[] {
  try {
    return readdirSync(folder, { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map(({ name }) => join(folder, name))
  } catch {
    return []
  }
}
