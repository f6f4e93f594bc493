import { accessSync, constants, readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { delimiter, dirname, join } from 'node:path'
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

/** The folder of Swift's programs, which Debian has in a package per server. */
export function findSwiftPrograms(): string {
  const packages = ['swift-proxy', 'swift-account', 'swift-container', 'swift-object']
  const missing = packages.filter((name) => !findOnPath(`${name}-server`))
  const builder = findOnPath('swift-ring-builder')
  if (!builder) missing.push('swift')
  if (builder && missing.length === 0) return dirname(builder)
  const hint = `apt-get install --no-install-recommends ${missing.join(' ')}`
  throw new StartError('OpenStack Swift, which --s3 needs, is not installed.', { hint })
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

/** What must not or should not run as root is lent the first of these users that exists. */
export function lentUser(names: string[], program: string): User | undefined {
  if (process.getuid?.() !== 0) return undefined
  const users = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => line.split(':'))
    .map(([name, , uid, gid]) => ({ name: name ?? '', uid: Number(uid), gid: Number(gid) }))
  const user = names.flatMap((name) => users.filter((each) => each.name === name))[0]
  if (user) return user
  const hint = `run the stack as another user than root, or add a user named ${names[0]}`
  throw new StartError(`${program} does not run as root and there is no user ${names.join(' or ')}.`, {
    hint,
  })
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
