import { homedir } from 'node:os'
import { join } from 'node:path'

export type Environment = Readonly<Record<string, string | undefined>>

/** Where things are kept. An empty variable counts as absent, as the XDG rules have it. */
export function configFolder(environment: Environment): string {
  if (environment['GUILD_CONFIG_DIR']) return environment['GUILD_CONFIG_DIR']
  if (process.platform === 'win32' && environment['APPDATA']) return join(environment['APPDATA'], 'guild')
  return join(environment['XDG_CONFIG_HOME'] || join(homeFolder(environment), '.config'), 'guild')
}

export function stateFolder(environment: Environment): string {
  if (environment['GUILD_CONFIG_DIR']) return environment['GUILD_CONFIG_DIR']
  return join(environment['XDG_STATE_HOME'] || join(homeFolder(environment), '.local', 'state'), 'guild')
}

export function cacheFolder(environment: Environment): string {
  return join(environment['XDG_CACHE_HOME'] || join(homeFolder(environment), '.cache'), 'guild')
}

export function homeFolder(environment: Environment): string {
  return environment['HOME'] || homedir()
}

const secretVariables: readonly string[] = ['GUILD_API_KEY', 'GUILD_AUTH_TOKEN', 'GUILD_LISTEN_SECRET']

/** For programs that this one starts: they get no credential of ours. */
export function withoutSecrets(environment: Environment): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(environment).filter(([name]) => !secretVariables.includes(name)))
}
