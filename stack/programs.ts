import { accessSync, constants, readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { delimiter, join } from 'node:path'
import { StartError } from './start-error.ts'

export type User = { name: string; uid: number; gid: number }

const debianPostgres = '/usr/lib/postgresql'

/** The folder of the newest installed PostgreSQL; Debian keeps its server programs off the PATH. */
export function findPostgresPrograms(): string {
  for (const version of installedVersions()) {
    const folder = join(debianPostgres, version, 'bin')
    if (isExecutable(join(folder, 'postgres')) && isExecutable(join(folder, 'initdb'))) return folder
  }
  const folder = pathFolders().find((each) => isExecutable(join(each, 'initdb')))
  if (folder) return folder
  throw new StartError('PostgreSQL is not installed.', { hint: 'apt-get install postgresql' })
}

export function findRedisServer(): string {
  const program = findOnPath('redis-server') ?? findOnPath('valkey-server')
  if (program) return program
  throw new StartError('Redis is not installed.', { hint: 'apt-get install redis-server' })
}

/** The platform package's own binary: npm's wrapper script would be a second process in front of it. */
export function findRestateServer(): string {
  const platform = `@restatedev/restate-server-${process.platform}-${process.arch}`
  try {
    const fromHere = createRequire(import.meta.url)
    const fromWrapper = createRequire(fromHere.resolve('@restatedev/restate-server/package.json'))
    return fromWrapper.resolve(`${platform}/bin/restate-server`)
  } catch (cause) {
    const hint = 'npm ci --ignore-scripts (optional dependencies must not be left out)'
    throw new StartError(`The Restate server (${platform}) is not installed.`, { hint, cause })
  }
}

export function findOnPath(name: string): string | undefined {
  return pathFolders()
    .map((folder) => join(folder, name))
    .find(isExecutable)
}

/** PostgreSQL refuses to run as root, so root lends it another user. */
export function postgresUser(): User | undefined {
  if (process.getuid?.() !== 0) return undefined
  const users = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => line.split(':'))
    .map(([name, , uid, gid]) => ({ name: name ?? '', uid: Number(uid), gid: Number(gid) }))
  const user = ['postgres', 'nobody'].flatMap((name) => users.filter((each) => each.name === name))[0]
  if (user) return user
  const hint = 'run the stack as another user than root, or add a user named postgres'
  throw new StartError('PostgreSQL does not run as root and there is no user postgres or nobody.', { hint })
}

function installedVersions(): string[] {
  try {
    return readdirSync(debianPostgres).sort((a, b) => Number(b) - Number(a))
  } catch {
    return []
  }
}

function pathFolders(): string[] {
  return (process.env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '')
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return true
  } catch {
    return false
  }
}
