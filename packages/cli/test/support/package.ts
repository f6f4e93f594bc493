import { execFileSync } from 'node:child_process'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { dist } from './guild.ts'

export interface Installed {
  /** Of the project that it was installed into. */
  folder: string
  package: string
  program: string
}

/** As somebody gets it: packed, and installed into an empty folder, without scripts and without a network. */
export function installGuild(): Installed {
  const folder = mkdtempSync(join(tmpdir(), 'guild-installed-'))
  const npm = (args: string[], cwd: string) =>
    execFileSync('npm', args, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })
  const [packed] = JSON.parse(npm(['pack', '--json', '--ignore-scripts', '--pack-destination', folder], dist))
  npm(['init', '-y'], folder)
  npm(['install', '--ignore-scripts', '--omit=optional', '--offline', join(folder, packed.filename)], folder)
  return {
    folder,
    package: join(folder, 'node_modules', '@guildhall', 'cli'),
    program: join(folder, 'node_modules', '.bin', 'guild'),
  }
}
