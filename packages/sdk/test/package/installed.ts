import { execFileSync } from 'node:child_process'
import { cpSync, mkdtempSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { rolldown } from 'rolldown'

const pathOf = (path: string) => fileURLToPath(new URL(path, import.meta.url))

export const dist = pathOf('../../dist')
/** Programs that are installed apart (`npm run runtimes`). */
export const runtimeAt = (path: string) => pathOf(`../../../../test/runtimes/node_modules/${path}`)

export interface Installed {
  /** An empty folder that the package was installed into, and the examples copied. */
  readonly folder: string
  readonly tarball: string
}

/** As whoever installs it gets it: packed, without scripts, and without a registry, because it needs nothing. */
export function installPackage(): Installed {
  // Two files need it, and building takes a while: what is newer than all that it is built from is good.
  if (!(timeOf(join(dist, 'package.json')) > Math.max(...sources().map(timeOf))))
    execFileSync('npm', ['run', '--silent', 'sdk:package'], { cwd: pathOf('../../../..'), stdio: 'inherit' })
  const place = mkdtempSync(join(tmpdir(), 'guildhall-sdk-'))
  npm(place, ['pack', '--silent', '--pack-destination', place, dist])
  const name = readdirSync(place).find((file) => file.endsWith('.tgz')) as string
  const tarball = join(place, name)
  const folder = join(place, 'app')
  cpSync(pathOf('../../examples'), folder, { recursive: true })
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ private: true, type: 'module' }))
  npm(folder, ['install', '--ignore-scripts', '--offline', tarball])
  return { folder, tarball }
}

const timeOf = (path: string) => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0

function sources(): string[] {
  const folder = pathOf('../../')
  const below = ['src', 'examples'].flatMap((name) =>
    readdirSync(join(folder, name), { recursive: true, encoding: 'utf8' }).map((path) =>
      join(folder, name, path),
    ),
  )
  const build = [
    'README.md',
    'package.json',
    'tsconfig.build.json',
    'tsconfig.node.json',
    '../../scripts/sdk-package.ts',
  ]
  return [...below, ...build.map((path) => join(folder, path))]
}

/** With a cache and a home of its own. */
export function npm(cwd: string, args: readonly string[]): string {
  const home = join(tmpdir(), 'guildhall-sdk-npm')
  const env = { PATH: process.env['PATH'] ?? '', HOME: home, npm_config_cache: join(home, 'cache') }
  return execFileSync('npm', [...args], { cwd, env, encoding: 'utf8' })
}

/** One file with everything that the code needs, as pages and workers are given it. */
export async function bundle(folder: string, code: string): Promise<string> {
  const entry = join(folder, 'entry.mjs')
  const build = await rolldown({
    input: entry,
    cwd: folder,
    platform: 'neutral',
    logLevel: 'silent',
    plugins: [
      {
        name: 'entry',
        load: (id) => (id === entry ? code : null),
        resolveId: (id) => (id === entry ? id : null),
      },
    ],
  })
  const { output } = await build.generate({ format: 'esm', minify: true })
  await build.close()
  return output[0].code
}
