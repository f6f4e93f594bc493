import { readFileSync, writeFileSync } from 'node:fs'

/**
 * Adds the optional packages of other platforms to the lock file. npm leaves out those that the registry at hand
 * does not offer, and then `npm ci` refuses the lock as incomplete, here and everywhere. Run it after every change
 * of a dependency: `npm run lock`.
 */
interface LockedPackage {
  version?: string
  dev?: boolean
  optional?: boolean
  optionalDependencies?: Record<string, string>
  os?: string[]
  cpu?: string[]
  libc?: string[]
}

const systems = ['android', 'darwin', 'freebsd', 'linux', 'openharmony', 'win32']
const processors = ['arm64', 'arm', 'ia32', 'ppc64', 'riscv64', 's390x', 'wasm32', 'x64']

for (const name of [
  'package-lock.json',
  'bench/peers/package-lock.json',
  'test/runtimes/package-lock.json',
]) {
  const added = complete(new URL(`../${name}`, import.meta.url))
  console.log(added > 0 ? `${name}: added ${added} packages of other platforms` : `${name} is complete`)
}

function complete(file: URL): number {
  const lock = JSON.parse(readFileSync(file, 'utf8')) as { packages: Record<string, LockedPackage> }
  let added = 0
  for (const owner of Object.values({ ...lock.packages })) {
    for (const [name, version] of Object.entries(owner.optionalDependencies ?? {})) {
      const place = `node_modules/${name}`
      if (place in lock.packages) continue
      lock.packages[place] = {
        version,
        ...(owner.dev ? { dev: true } : {}),
        optional: true,
        ...platformOf(name),
      }
      added++
    }
  }
  const sorted = Object.entries(lock.packages).sort(([a], [b]) => (a < b ? -1 : 1))
  writeFileSync(file, `${JSON.stringify({ ...lock, packages: Object.fromEntries(sorted) }, null, 2)}\n`)
  return added
}

/** Such packages say in their names what they are for; one that does not must be looked at by a person. */
function platformOf(name: string): Pick<LockedPackage, 'os' | 'cpu' | 'libc'> {
  const words = name.split(/[-/]/)
  const os = systems.filter((system) => words.includes(system))
  const cpu = processors.filter((processor) => words.includes(processor))
  if (cpu.length !== 1) throw new Error(`${name} is missing from the lock and its name tells no platform`)
  const libc = words.some((word) => word.startsWith('musl')) ? ['musl'] : undefined
  return { ...(os.length > 0 ? { os } : {}), cpu, ...(libc ? { libc } : {}) }
}
