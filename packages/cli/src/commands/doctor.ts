import { writeFile } from 'node:fs/promises'
import { Guildhall } from '@guildhall/sdk'
import { commonOptions, keyOf } from '../client.ts'
import type { Handler } from '../command.ts'
import type { Context } from '../context.ts'
import { probeKeyring } from '../credentials/keyring.ts'
import { probeFolder } from '../credentials/private-files.ts'
import { exit } from '../exit-codes.ts'
import { Failure } from '../failure.ts'
import { green, red, type Shown, say, yellow } from '../output/safe-text.ts'
import { configFolder } from '../places.ts'
import { version } from '../version.ts'

interface Check {
  id: string
  ok: boolean
  level: 'fine' | 'note' | 'problem'
  message: string
  fix: string | null
}

const skewToldMs = 60_000

/** What a person would look at when something does not work, in the order they would. */
export const doctor: Handler = async (context) => {
  const { out, input } = context
  const checks: Check[] = []
  const told = (check: Check) => {
    checks.push(check)
    if (!out.isJson) out.line(drawn(check, context))
  }
  told(
    fine('program', `guild ${version} on node ${process.versions.node} ${process.platform}-${process.arch}`),
  )
  told(proxyCheck(context))
  told(await storageCheck(context))
  const { baseUrl } = context.settings
  if (!baseUrl) told(problem('address', 'no address is known', 'guild login https://guild.example'))
  else {
    const reached = await serverCheck(context, baseUrl, told)
    if (reached) told(await keyCheck(context))
  }
  const ok = checks.every((check) => check.level !== 'problem')
  const bundle = input.text('bundle')
  if (bundle) await writeFile(bundle, `${JSON.stringify({ checks }, null, 2)}\n`, { mode: 0o600 })
  out.document({ ok, checks }, () => [])
  return ok ? exit.done : exit.failed
}

function proxyCheck({ settings: { environment } }: Context): Check {
  const proxy = environment['HTTPS_PROXY'] ?? environment['https_proxy'] ?? environment['HTTP_PROXY']
  // The address of a proxy may hold a password.
  return fine('proxy', `proxy: ${proxy && URL.canParse(proxy) ? new URL(proxy).host : 'none'}`)
}

async function storageCheck({ settings: { environment } }: Context): Promise<Check> {
  if (await probeKeyring()) return fine('storage', 'keyring answers: keys are kept in it')
  try {
    probeFolder(configFolder(environment))
    return note('storage', 'keyring does not answer: keys are kept in a file (0600)', null)
  } catch (error) {
    const fix = 'set GUILD_CONFIG_DIR to a folder of yours'
    return problem('storage', error instanceof Error ? error.message : 'keys cannot be kept', fix)
  }
}

async function serverCheck(
  context: Context,
  baseUrl: string,
  told: (check: Check) => void,
): Promise<boolean> {
  const began = performance.now()
  try {
    const visitor = new Guildhall({ ...commonOptions(context, baseUrl), maxRetries: 0, timeoutMs: 10_000 })
    const meta = await visitor.meta.get({ signal: context.signal })
    const ms = Math.round(performance.now() - began)
    told(fine('server', `${baseUrl} answers in ${ms} ms, version ${meta.version}`))
  } catch (error) {
    if (context.signal.aborted) throw context.signal.reason
    const why = error instanceof Error ? error.message : String(error)
    told(problem('server', `${baseUrl} does not answer: ${why}`, `curl -v ${baseUrl}/healthz`))
    return false
  }
  const { readiness, skewMs } = await readinessOf(baseUrl, context.signal)
  const skew = `clock (skew ${(skewMs / 1000).toFixed(1)} s)`
  told(
    Math.abs(skewMs) > skewToldMs
      ? note('clock', skew, 'set the clock of this computer')
      : fine('clock', skew),
  )
  told(
    readiness.status === 'ok'
      ? fine('readiness', 'all parts are there')
      : problem(
          'readiness',
          `${readiness.status}, away: ${readiness.down.join(', ')}`,
          'wait, or tell the operator',
        ),
  )
  return true
}

interface Readiness {
  status: string
  down: string[]
}

async function readinessOf(
  baseUrl: string,
  signal: AbortSignal,
): Promise<{ readiness: Readiness; skewMs: number }> {
  const response = await fetch(`${baseUrl}/readyz`, { signal, redirect: 'manual' })
  const date = response.headers.get('date')
  const skewMs = date ? Date.now() - Date.parse(date) : 0
  const read = (await response.json().catch(() => ({}))) as Partial<Readiness>
  return { readiness: { status: read.status ?? 'unknown', down: read.down ?? [] }, skewMs }
}

async function keyCheck(context: Context): Promise<Check> {
  try {
    await keyOf(context)
    const self = await (await context.client()).permissions.me({ signal: context.signal })
    return fine('key', `key works: ${self.workspace.name ?? self.workspace.id}, ${self.scopes.length} scopes`)
  } catch (error) {
    if (context.signal.aborted) throw context.signal.reason
    const { failureOf } = await import('../sdk-failure.ts')
    const failure = error instanceof Failure ? error : failureOf(error, context)
    return problem('key', failure?.message ?? String(error), failure?.next[0] ?? 'guild auth status')
  }
}

function drawn({ level, message, fix }: Check, { out }: Context): Shown {
  const sign = { fine: green(out.sign('✓', 'ok')), note: yellow('!'), problem: red(out.sign('✗', 'error:')) }[
    level
  ]
  return say`${sign} ${message}${fix ? ` → ${fix}` : ''}`
}

const fine = (id: string, message: string): Check => ({ id, ok: true, level: 'fine', message, fix: null })
const note = (id: string, message: string, fix: string | null): Check => ({
  id,
  ok: true,
  level: 'note',
  message,
  fix,
})
const problem = (id: string, message: string, fix: string): Check => ({
  id,
  ok: false,
  level: 'problem',
  message,
  fix,
})
