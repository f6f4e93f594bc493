import { Guildhall } from '@guildhall/sdk'
import { canOpenBrowser, openBrowser } from '../browser.ts'
import { commonOptions } from '../client.ts'
import type { Handler } from '../command.ts'
import { exit } from '../exit-codes.ts'
import { usage } from '../failure.ts'
import { say } from '../output/safe-text.ts'

/** By how an id begins; what waits for a decision has ids of many kinds, so it is everything else. */
const pages: readonly (readonly [start: string, page: string])[] = [
  ['exec_', 'executions'],
  ['run_', 'workflow-runs'],
  ['trace_', 'traces'],
  ['thread_', 'threads'],
  ['artifact_', 'artifacts'],
]

/** The page of something in the app. Its address goes to stdout, for boxes without a browser. */
export const open: Handler = async (context) => {
  const { input, out, settings, signal } = context
  const id = input.argument('ID')
  const { baseUrl } = settings
  if (!baseUrl) throw usage('No address is known.', 'guild login https://guild.example')
  const { appUrl } = await new Guildhall(commonOptions(context, baseUrl)).meta.get({ signal })
  const page = pages.find(([start]) => id.startsWith(start))?.[1] ?? 'approvals'
  const url = `${appUrl}/${page}/${encodeURIComponent(id)}`
  const opens =
    !input.has('no-input') && !settings.isCi && !settings.isAgent && canOpenBrowser(settings.environment)
  if (opens) openBrowser(url, settings.environment)
  out.document({ id, url, opened: opens }, () => [say`${url}`])
  return exit.done
}
