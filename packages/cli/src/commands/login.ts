import { hostname } from 'node:os'
import { Guildhall, startPairing } from '@guildhall/sdk'
import { canOpenBrowser, openBrowser } from '../browser.ts'
import { commonOptions, notSignedIn, userAgent } from '../client.ts'
import type { Handler } from '../command.ts'
import type { Context } from '../context.ts'
import { type PendingLogin, readPending, removePending, writePending } from '../credentials/pending-login.ts'
import { chooseStore, openStore, type SecretStore } from '../credentials/store.ts'
import { type ExitCode, exit } from '../exit-codes.ts'
import { Failure, usage } from '../failure.ts'
import { qrOf } from '../output/qr.ts'
import { bold, joined, say } from '../output/safe-text.ts'
import { changeConfig } from '../profile.ts'
import { askHidden, readStdin } from '../prompt.ts'
import { cleanAddress } from '../settings.ts'
import { consentTo, lacking } from './consent.ts'
import { collectKey } from './pairing.ts'

const scopeSets: Readonly<Record<string, readonly string[]>> = {
  read: ['profile:read', 'agent:list', 'billing:read', 'workspace:files:read'],
  run: ['profile:read', 'agent:list', 'billing:read', 'workspace:files:read', 'tool:execute'],
  author: [
    'profile:read',
    'agent:list',
    'billing:read',
    'workspace:files:read',
    'tool:execute',
    'workspace:files:write',
  ],
}

export const login: Handler = async (context) => {
  const { input, settings } = context
  if (input.has('resume')) return resumeLogin(context)
  const baseUrl = addressOf(context)
  if (input.has('person')) return (await import('./login-person.ts')).loginPerson(context, baseUrl)
  if (input.has('keep')) throw usage('--keep goes with --person.', 'guild login --person --keep')
  if (input.has('with-key')) return loginWithKey(context, baseUrl)
  if (settings.isCi && !input.has('no-wait')) {
    throw notSignedIn(
      'CI is set: a pipeline has no person who could confirm a code.',
      'set GUILD_API_KEY and GUILD_BASE_URL as secrets of the pipeline',
      'guild keys create --label ci --scopes tool:execute --expires 90d',
    )
  }
  const store = await storeFor(context)
  const pending = await beginPairing(context, baseUrl, store)
  if (input.has('no-wait') || settings.isAgent) return leavePending(context, pending)
  return finishLogin(context, pending, store)
}

function addressOf({ input, settings }: Context): string {
  const said = input.optional('URL')
  const baseUrl = said === undefined ? settings.baseUrl : cleanAddress(said)
  if (!baseUrl) throw usage('Say where to sign in.', 'guild login https://guild.example')
  return baseUrl
}

/** Proves that the key can be kept, and says where, before a person is asked for anything. */
async function storeFor({ input, settings, out }: Context): Promise<SecretStore> {
  const wanted = input.text('storage') ?? settings.environment['GUILD_STORAGE'] ?? 'auto'
  if (wanted !== 'auto' && wanted !== 'keyring' && wanted !== 'file') {
    throw usage(`GUILD_STORAGE is keyring or file, not "${wanted}".`)
  }
  const store = await chooseStore(wanted, settings.environment, (path) =>
    out.warn(say`${path} was narrowed to 0600.`),
  )
  out.talk(
    store.storage === 'keyring'
      ? say`The key will be kept in this computer's keyring.`
      : say`The key will be kept in a file that only you can read (0600).`,
  )
  return store
}

async function beginPairing(context: Context, baseUrl: string, store: SecretStore): Promise<PendingLogin> {
  const { input, settings, signal } = context
  const label = input.text('label') ?? `guild on ${hostname()}`
  const scopes = scopesOf(input.words('scopes'))
  const begun = await startPairing({ baseUrl, label, scopes, signal, userAgent })
  const pending: PendingLogin = {
    baseUrl,
    profile: settings.profileName,
    storage: store.storage,
    label,
    scopes,
    deviceCode: begun.deviceCode,
    userCode: begun.userCode,
    intervalSeconds: begun.intervalMs / 1000,
    expiresAt: begun.expiresAt.toISOString(),
    verificationUrl: begun.verificationUrl,
    verificationUrlComplete: begun.verificationUrlComplete,
  }
  writePending(settings.environment, pending)
  showCode(context, pending)
  return pending
}

function scopesOf(words: readonly string[]): string[] {
  return [
    ...new Set(words.flatMap((word) => (Object.hasOwn(scopeSets, word) ? (scopeSets[word] ?? []) : [word]))),
  ]
}

function showCode({ input, out }: Context, pending: PendingLogin): void {
  out.talk(say``)
  out.talk(say`  Code   ${bold(pending.userCode)}`)
  out.talk(say`  Open   ${pending.verificationUrlComplete}`)
  const qr = input.has('no-qr') ? undefined : qrOf(pending.verificationUrlComplete, out)
  if (qr) out.talk(qr)
  out.talk(say``)
}

/** For an agent or a script: the code is shown now, the wait is a command of its own. */
function leavePending({ out, input }: Context, pending: PendingLogin): ExitCode {
  const next = 'guild login --resume'
  out.document(
    {
      status: 'pending',
      user_code: pending.userCode,
      verification_url: pending.verificationUrl,
      verification_url_complete: pending.verificationUrlComplete,
      expires_at: pending.expiresAt,
      storage: pending.storage,
      next: [next],
    },
    () => [say`${pending.userCode}\t${pending.verificationUrlComplete}`],
  )
  if (!input.has('no-wait')) out.talk(say`An agent runs this, so it does not wait.`)
  out.talk(say`Show the code to the person, then: ${bold(next)}`)
  return exit.done
}

async function resumeLogin(context: Context): Promise<ExitCode> {
  const { settings, out } = context
  const pending = readPending(settings.environment)
  if (!pending)
    throw notSignedIn('No login waits to be resumed.', 'guild login https://guild.example --no-wait')
  const store = openStore(pending.storage, settings.environment, (path) =>
    out.warn(say`${path} was narrowed to 0600.`),
  )
  return finishLogin(context, pending, store)
}

async function finishLogin(context: Context, pending: PendingLogin, store: SecretStore): Promise<ExitCode> {
  const { settings, input } = context
  offerBrowser(context, pending)
  const paired = await collectKey(context, pending)
  try {
    await store.write(pending.profile, paired.apiKey)
  } catch (error) {
    throw keyThatCannotBeKept(context, paired.apiKey, error)
  }
  changeConfig(settings.environment, (config) => {
    config.current = input.has('profile') ? config.current : pending.profile
    config.profiles[pending.profile] = {
      baseUrl: pending.baseUrl,
      workspace: paired.workspace ?? null,
      keyId: null,
      keyPrefix: null,
      label: pending.label,
      storage: pending.storage,
      pairedAt: new Date().toISOString(),
    }
  })
  removePending(settings.environment)
  context.out.done(
    say`Paired as "${pending.label}" in workspace ${paired.workspace?.name ?? paired.workspace?.id}`,
  )
  const client = new Guildhall({ ...commonOptions(context, pending.baseUrl), apiKey: paired.apiKey })
  return describeKey(context, client, pending)
}

/** Enter opens a browser where there is one; the polling goes on meanwhile, so failing to open never blocks. */
function offerBrowser({ settings, input, out }: Context, pending: PendingLogin): void {
  if (!settings.mayPrompt || input.has('no-browser') || !canOpenBrowser(settings.environment)) return
  out.talk(say`Press Enter to open a browser here, or use your phone.`)
  process.stdin.once('data', () => openBrowser(pending.verificationUrlComplete, settings.environment))
  process.stdin.unref()
}

/** The key exists and this is the only copy: better on the screen of its person than nowhere. */
function keyThatCannotBeKept({ out }: Context, apiKey: string, cause: unknown): Failure {
  if (out.stderrIsTerminal) {
    out.talk(say`The key could not be kept. This is the only time it is shown: ${bold(apiKey)}`)
  }
  return new Failure({
    exitCode: exit.notSignedIn,
    message: `The key could not be kept: ${cause instanceof Error ? cause.message : String(cause)}`,
    next: ['export GUILD_API_KEY=…', 'revoke the key in the app, then: guild login --storage file'],
    cause,
  })
}

async function describeKey(context: Context, client: Guildhall, pending: PendingLogin): Promise<ExitCode> {
  const { out, settings } = context
  const self = await consentTo(context, client, pending.scopes)
  if (self) {
    changeConfig(settings.environment, ({ profiles }) => {
      const profile = profiles[pending.profile]
      if (profile)
        Object.assign(profile, { keyId: self.key.id, keyPrefix: self.key.prefix, workspace: self.workspace })
    })
  }
  const scopes = self?.scopes.map(({ scope }) => scope) ?? []
  out.document(
    {
      status: 'approved',
      profile: pending.profile,
      workspace: self?.workspace ?? null,
      storage: pending.storage,
      activated: self !== undefined,
      scopes,
    },
    () => [],
  )
  if (self) {
    const refused = lacking(self, pending.scopes)
    const without = refused.length > 0 ? say`. Not allowed: ${joined(refused, ', ')}` : say``
    out.done(say`It may use: ${scopes.length > 0 ? joined(scopes, ', ') : 'nothing yet'}${without}`)
  } else out.warn(say`It may do nothing yet. Ask for what it needs: guild perms declare SCOPE… --wait`)
  return exit.done
}

async function loginWithKey(context: Context, baseUrl: string): Promise<ExitCode> {
  const { settings, signal } = context
  const apiKey = process.stdin.isTTY
    ? await askHidden('Key: ', signal)
    : ((await readStdin(10_000))?.toString('utf8').trim() ?? '')
  if (!apiKey) throw usage('No key came on stdin.', 'guild login --with-key < key.txt')
  const store = await storeFor(context)
  const client = new Guildhall({ ...commonOptions(context, baseUrl), apiKey })
  const self = await client.permissions.me({ signal })
  await store.write(settings.profileName, apiKey)
  changeConfig(settings.environment, (config) => {
    config.current = context.input.has('profile') ? config.current : settings.profileName
    config.profiles[settings.profileName] = {
      baseUrl,
      workspace: self.workspace,
      keyId: self.key.id,
      keyPrefix: self.key.prefix,
      label: self.key.label,
      storage: store.storage,
      pairedAt: new Date().toISOString(),
    }
  })
  context.out.document(
    { status: 'approved', profile: settings.profileName, workspace: self.workspace, storage: store.storage },
    () => [],
  )
  context.out.done(
    say`Signed in as "${self.key.label}" in workspace ${self.workspace.name ?? self.workspace.id}`,
  )
  return exit.done
}
