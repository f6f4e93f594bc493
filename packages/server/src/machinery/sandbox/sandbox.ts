import { createBubblewrap } from './bubblewrap.ts'
import { createCgroups, createNoCgroups } from './cgroup.ts'
import { createDriver } from './driver.ts'
import { createOciRuntime } from './oci.ts'
import type { SandboxConfig, SandboxDriver } from './port.ts'

export { listSights } from './host-view.ts'
export { endStart } from './launch.ts'
export type {
  CommandResult,
  Sandbox,
  SandboxConfig,
  SandboxDriver,
  SandboxLimits,
  SandboxSpec,
} from './port.ts'
export { SandboxError } from './port.ts'

/** Where skills' commands run. There is no fallback: a host that cannot protect itself makes `check` throw. */
export function createSandboxDriver(config: SandboxConfig): SandboxDriver {
  const cgroups = createCgroups(config.cgroupParent)
  switch (config.kind) {
    case 'bubblewrap':
      return createDriver(config, createBubblewrap(config), cgroups)
    case 'bubblewrap-without-limits':
      return createDriver(config, createBubblewrap(config), createNoCgroups())
    case 'runc':
    case 'runsc':
      return createDriver(config, createOciRuntime(config, config.kind, cgroups), cgroups)
  }
}
