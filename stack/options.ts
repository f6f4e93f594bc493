import { parseArgs } from 'node:util'
import type { StackOptions } from './start.ts'

export class UsageError extends Error {
  override name = 'UsageError'
}

export type CommandLine = { help: boolean; json: boolean; stack: StackOptions }

const flags = {
  json: { type: 'boolean', default: false },
  host: { type: 'string', default: 'localhost' },
  api: { type: 'string', default: '1' },
  workers: { type: 'string', default: '1' },
  'no-restart': { type: 'boolean', default: false },
  limits: { type: 'string', default: 'on' },
  s3: { type: 'boolean', default: false },
  protocol: { type: 'string', default: 'anthropic' },
  env: { type: 'string', multiple: true, default: [] as string[] },
  help: { type: 'boolean', short: 'h', default: false },
} as const

const mostProcesses = 32

export const usage = `npm run stack -- [flags]

Starts a private deployment on free ports in a temporary folder: PostgreSQL, Redis, Restate,
an identity provider, the API and the workers. Ctrl-C stops it and removes the folder.

  --api N          API processes behind one address (1)
  --workers N      worker processes behind one address (1)
  --host NAME      what the deployment is called: localhost, as passkeys and the app need it, or 127.0.0.1
  --limits off     no rate limits
  --s3             keep blobs in OpenStack Swift over its S3 interface, not in a folder
  --protocol openai  runs speak to the stand-in for a model in OpenAI's way, not in Anthropic's
  --env KEY=VALUE  for the API and worker processes; may be repeated. KEY alone: as it is set here
  --no-restart     leave a process that died dead
  --json           print one line of JSON when ready, and nothing else, on stdout
  --help           this text
`

export function parseCommandLine(args: string[]): CommandLine {
  const {
    json,
    help,
    host,
    limits,
    s3,
    protocol,
    env,
    api,
    workers,
    'no-restart': noRestart,
  } = parseFlags(args)
  if (limits !== 'on' && limits !== 'off') throw new UsageError(`--limits takes on or off, not ${limits}`)
  if (protocol !== 'anthropic' && protocol !== 'openai')
    throw new UsageError(`--protocol takes anthropic or openai, not ${protocol}`)
  if (host !== 'localhost' && host !== '127.0.0.1' && !host.endsWith('.localhost'))
    throw new UsageError(`--host takes localhost, a name below it, or 127.0.0.1, not ${host}`)
  return {
    help,
    json,
    stack: {
      host,
      api: parseCount('--api', api),
      workers: parseCount('--workers', workers),
      restart: !noRestart,
      limits,
      s3,
      protocol,
      env: Object.fromEntries(env.map(parseSetting)),
    },
  }
}

function parseFlags(args: string[]) {
  try {
    return parseArgs({ args, options: flags }).values
  } catch (error) {
    const allowed = Object.keys(flags).map((name) => `--${name}`)
    throw new UsageError(`${(error as Error).message}\nThe flags are ${allowed.join(', ')}.`)
  }
}

function parseCount(flag: string, text: string): number {
  const count = Number(text)
  if (/^\d+$/.test(text) && count >= 1 && count <= mostProcesses) return count
  throw new UsageError(`${flag} takes a number from 1 to ${mostProcesses}, not ${text}`)
}

/** A name alone stands for what it has here: a secret on a command line is seen by everybody on the machine. */
function parseSetting(text: string): [key: string, value: string] {
  const [, key, value] = /^([A-Za-z_]\w*)(?:=(.*))?$/s.exec(text) ?? []
  if (key === undefined) throw new UsageError(`--env takes KEY=VALUE, not ${text}`)
  const given = value ?? process.env[key]
  if (given === undefined)
    throw new UsageError(`--env ${key} takes the value from the environment; ${key} is not set`)
  return [key, given]
}
