import { randomBytes } from 'node:crypto'
import { appendFileSync, chownSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describeEnding, startChild } from './child.ts'
import { logFileOf, openForTraversal, type PartOptions } from './folder.ts'
import { claimPort, retryOnTakenPort } from './ports.ts'
import { acceptsConnections } from './probes.ts'
import { findPostgresPrograms, lentUser, type User } from './programs.ts'
import { baseEnv, runToEnd } from './spawn.ts'
import { StartError } from './start-error.ts'

export type PostgresServer = {
  url: string
  port: number
  pid: () => number | null
  stop: () => Promise<void>
}

type Cluster = { programs: string; data: string; password: string; user: User | undefined }

const name = 'guildhall'

// A cluster that is thrown away need not survive a power cut. It must survive kill -9 with every commit it
// confirmed, which is why synchronous_commit stays on. Shared memory lives in the folder because what a killed
// cluster leaves in /dev/shm stays there, and in a container that is full after a few dozen.
const settings = `
listen_addresses = '127.0.0.1'
unix_socket_directories = ''
max_connections = 400
shared_buffers = 256MB
dynamic_shared_memory_type = mmap
fsync = off
full_page_writes = off
synchronous_commit = on
timezone = 'UTC'
log_timezone = 'UTC'
log_min_messages = warning
lc_messages = 'C'
`

export async function startPostgres(options: PartOptions): Promise<PostgresServer> {
  const cluster = await createCluster(options)
  return retryOnTakenPort(() => startOnce(cluster, options))
}

async function createCluster({ dir, signal }: PartOptions): Promise<Cluster> {
  signal?.throwIfAborted()
  const programs = findPostgresPrograms()
  const user = lentUser(['postgres', 'nobody'], 'PostgreSQL')
  const home = join(dir, 'postgres')
  const data = join(home, 'data')
  const passwordFile = join(home, 'password')
  const password = randomBytes(24).toString('base64url')
  await openForTraversal(dir)
  mkdirSync(home, { mode: 0o700 })
  writeFileSync(passwordFile, password, { mode: 0o600 })
  if (user) for (const path of [home, passwordFile]) chownSync(path, user.uid, user.gid)

  const logFile = logFileOf(dir, 'postgres-setup')
  const args = ['-D', data, '-U', name, '--pwfile', passwordFile, '--no-sync', '--no-instructions']
  args.push('--encoding=UTF8', '--locale=C', '--auth-local=reject', '--auth-host=password')
  const program = join(programs, 'initdb')
  const ending = await runToEnd({ program, args, env: baseEnv(dir), logFile, user }, signal)
  if (ending.code !== 0) {
    const hint = `the folder ${dir} must be reachable by the user ${user?.name ?? 'running this'}; set TMPDIR if not`
    throw new StartError(`initdb ${describeEnding(ending)}.`, { logFile, hint })
  }
  rmSync(passwordFile)
  appendFileSync(join(data, 'postgresql.conf'), settings)
  writeFileSync(join(data, 'pg_hba.conf'), 'host all all 127.0.0.1/32 password\n')
  return { programs, data, password, user }
}

async function startOnce(cluster: Cluster, options: PartOptions): Promise<PostgresServer> {
  const { programs, data, password, user } = cluster
  const { dir, restart, signal, onChange } = options
  signal?.throwIfAborted()
  const { port, release } = await claimPort()
  const child = startChild({
    name: 'postgres',
    program: join(programs, 'postgres'),
    args: ['-D', data, '-p', String(port)],
    env: baseEnv(dir),
    logFile: logFileOf(dir, 'postgres'),
    user,
    restart: restart ?? true,
    // Fast shutdown: the default one waits for clients to leave by themselves.
    stopSignal: 'SIGINT',
    onChange,
  })
  const stop = async () => {
    await child.stop()
    release()
  }
  // Making the database is the probe: only the cluster that knows the password is the right one.
  const createDatabase = async () => {
    if (!(await acceptsConnections(port))) return false
    const ending = await runToEnd({
      program: join(programs, 'createdb'),
      args: ['-h', '127.0.0.1', '-p', String(port), '-U', name, '--no-password', name],
      env: { ...baseEnv(dir), PGPASSWORD: password, PGSSLMODE: 'disable', PGGSSENCMODE: 'disable' },
      logFile: logFileOf(dir, 'postgres-setup'),
    })
    return ending.code === 0
  }
  try {
    await child.ready(createDatabase, signal)
  } catch (error) {
    await stop()
    throw error
  }
  return { url: `postgres://${name}:${password}@127.0.0.1:${port}/${name}`, port, pid: child.pid, stop }
}
