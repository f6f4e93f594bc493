import { join } from 'node:path'
import type { StackPids } from './running.ts'
import type { Stack, StackAddresses } from './start.ts'

export type StackDescription = StackAddresses & { pids: Omit<StackPids, 'identity' | 'models'> }

/** The one line that programs read. */
export function describeStack(stack: Stack): StackDescription {
  const { identity, models, ...pids } = stack.pids()
  return {
    baseUrl: stack.baseUrl,
    apiUrls: stack.apiUrls,
    streamUrl: stack.streamUrl,
    identityUrl: stack.identityUrl,
    modelUrl: stack.modelUrl,
    databaseUrl: stack.databaseUrl,
    redisUrl: stack.redisUrl,
    restateIngressUrl: stack.restateIngressUrl,
    restateAdminUrl: stack.restateAdminUrl,
    pids,
    dir: stack.dir,
  }
}

export function summarize(stack: Stack): string {
  const json = "-H 'content-type: application/json' -d"
  const url = (path: string) => `${stack.baseUrl}/api/v1/${path}`
  return `
Guildhall runs at ${stack.baseUrl}

  Sign in with a browser, as you@example.test or whoever you type:
    ${url('auth/start?browser=1&return=/')}

  Sign in as a developer; the answer holds your auth_token:
    curl -X POST ${url('auth/dev')} ${json} '{"email":"you@example.test"}'

  Pair an agent: it asks for a code, you confirm it, it polls for its key:
    curl -X POST ${url('activate')}
    curl -X POST ${url('activate/confirm')} -H 'x-auth-token: AUTH_TOKEN' ${json} '{"code":"USER_CODE"}'
    curl -X POST ${url('activate/poll')} ${json} '{"device_code":"DEVICE_CODE"}'

  Identity provider  ${stack.identityUrl} (any name signs in)
  Model              ${stack.modelUrl} (scripted; set MODELS with --env for a real one)
  PostgreSQL         ${stack.databaseUrl}
  Redis              ${stack.redisUrl}
  Restate            ${stack.restateIngressUrl}, console ${stack.restateAdminUrl}
  Blobs              ${stack.env['S3_ENDPOINT'] ?? stack.env['STORAGE']}
  Logs               ${join(stack.dir, 'logs')}
  Process ids        ${join(stack.dir, 'pids.json')}

Ctrl-C stops everything and removes ${stack.dir}
`
}
