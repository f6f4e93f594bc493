// Installs what a folder's lockfile names, whole: npm leaves out an optional package it could not fetch and says nothing,
// and the pinned Node, Restate, the bundlers and the linters all come as optional packages, one per platform. So what
// this machine should have is compared with what is there, and a registry that failed for a moment is asked again.
// Run by whatever Node the machine has: the pinned one is among the things installed.
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'

const folder = process.argv[2] ?? '.'
const pausesMs = (process.argv[3] ?? '5000,20000,60000').split(',').map(Number)

/** "any of these", "none of those": how a package names its platforms. */
function allows(names, mine) {
  if (names === undefined) return true
  const list = [names].flat()
  const refused = list.filter((name) => name.startsWith('!'))
  return !refused.includes(`!${mine}`) && (refused.length === list.length || list.includes(mine))
}

const myLibc = process.report.getReport().header.glibcVersionRuntime ? 'glibc' : 'musl'

function forThisMachine({ os, cpu, libc }) {
  return allows(os, process.platform) && allows(cpu, process.arch) && allows(libc, myLibc)
}

/** An optional package is wanted when one that runs here names it: the rest belong to other platforms' packages. */
function wanted(packages) {
  const here = Object.keys(packages).filter((path) => forThisMachine(packages[path]))
  const found = new Set(here.filter((path) => !packages[path].optional))
  for (const path of found) {
    const { dependencies, optionalDependencies } = packages[path]
    for (const name of Object.keys({ ...dependencies, ...optionalDependencies }))
      for (const named of here) if (named.endsWith(`node_modules/${name}`)) found.add(named)
  }
  return [...found]
}

function leftOut() {
  const { packages } = JSON.parse(readFileSync(join(folder, 'package-lock.json'), 'utf8'))
  return wanted(packages).filter((path) => !existsSync(join(folder, path, 'package.json')))
}

for (let attempt = 0; ; attempt++) {
  const { status } = spawnSync('npm', ['ci', '--ignore-scripts'], { cwd: folder, stdio: 'inherit' })
  const missing = status === 0 ? leftOut() : []
  if (status === 0 && missing.length === 0) break
  const why = status === 0 ? `npm left out ${missing.join(', ')}` : `npm ci ended with ${status}`
  const pause = pausesMs[attempt]
  if (pause === undefined) {
    console.error(
      `${why}, ${attempt + 1} times: does the registry answer? (npm config get registry; npm ping)`,
    )
    process.exit(1)
  }
  console.error(`${why}; trying again in ${pause / 1000} s`)
  await wait(pause)
}
