import { execFile } from 'node:child_process'
import type { Handler } from '../command.ts'
import { exit } from '../exit-codes.ts'
import { Failure, usage } from '../failure.ts'
import { say } from '../output/safe-text.ts'
import { withoutSecrets } from '../places.ts'
import { version } from '../version.ts'

const answersWithinMs = 20_000
const command = 'npm install --global @guildhall/cli'

/** The only command that asks for a newer guild, and it asks npm, as you have set it up. Nothing is installed. */
export const upgrade: Handler = async ({ input, out, settings, signal }) => {
  if (!input.has('check')) throw usage('guild does not replace itself.', 'guild upgrade --check', command)
  const latest = await latestVersion(withoutSecrets(settings.environment), signal)
  const newer = isNewer(latest, version)
  out.document({ version, latest, newer, next: newer ? [command] : [] }, () => [
    newer ? say`${latest} is out (you have ${version}): ${command}` : say`${version} is the newest.`,
  ])
  return exit.done
}

function latestVersion(env: NodeJS.ProcessEnv, signal: AbortSignal): Promise<string> {
  const args = ['view', '@guildhall/cli', 'version', '--json']
  return new Promise((resolve, reject) => {
    execFile('npm', args, { env, signal, timeout: answersWithinMs, encoding: 'utf8' }, (error, stdout) => {
      const said = versionIn(stdout)
      if (!error && said) resolve(said)
      else if (signal.aborted) reject(signal.reason)
      else {
        reject(
          new Failure({
            exitCode: exit.notReached,
            message: 'npm does not say which version of guild is the newest.',
            next: ['npm view @guildhall/cli version'],
            ...(error && { cause: error }),
          }),
        )
      }
    })
  })
}

function versionIn(text: string): string | undefined {
  try {
    const said: unknown = JSON.parse(text)
    return typeof said === 'string' && /^\d{1,6}\.\d{1,6}\.\d{1,6}$/.test(said) ? said : undefined
  } catch {
    return undefined
  }
}

function isNewer(one: string, other: string): boolean {
  const [these, those] = [one.split('.').map(Number), other.split('.').map(Number)]
  const at = these.findIndex((part, index) => part !== those[index])
  return at >= 0 && (these[at] ?? 0) > (those[at] ?? 0)
}
