import type { ActivityEntry, Agent, LedgerEntry, Workspace } from '@guildhall/sdk'
import type { Handler } from '../command.ts'
import { exit } from '../exit-codes.ts'
import { Failure } from '../failure.ts'
import type { Column } from '../output/columns.ts'
import { ago } from '../output/duration.ts'
import { money } from '../output/money.ts'
import { block, bold, say } from '../output/safe-text.ts'
import { changeConfig } from '../profile.ts'
import { pageOf } from './lists.ts'

export const billing: Handler = async ({ out, client, signal }) => {
  const answer = await (await client()).billing.get({ signal })
  const { key, total } = answer.spend
  out.document(answer, () => [
    say`available ${money(answer.availableBalance)} · held ${money(answer.reserved)} · spent ${money(total)}${key ? ` · this key ${money(key.total)}${key.limit === null ? '' : ` of ${money(key.limit)}`}` : ''}`,
  ])
  return exit.done
}

const ledgerColumns: readonly Column<LedgerEntry>[] = [
  { head: 'AT', cell: ({ at }, forPeople) => (forPeople ? ago(at) : at) },
  { head: 'KIND', cell: ({ kind }) => kind },
  { head: 'AMOUNT', cell: ({ amount }) => money(amount) },
  { head: 'EXECUTION', cell: ({ executionId }) => executionId },
  { head: 'NOTE', cell: ({ note }) => note, wide: true },
]

export const ledger: Handler = async (context) => {
  const { input, out, signal } = context
  const pager = (await context.client()).billing.ledger({}, { signal })
  out.list(await pageOf(input, pager), ledgerColumns, say`Nothing was booked.`)
  return exit.done
}

const activityColumns: readonly Column<ActivityEntry>[] = [
  { head: 'AT', cell: ({ at }, forPeople) => (forPeople ? ago(at) : at) },
  { head: 'TYPE', cell: ({ type }) => type },
  { head: 'ID', cell: ({ id }) => id, wide: true },
]

export const activity: Handler = async (context) => {
  const { input, out, signal } = context
  const pager = (await context.person()).activity.list({}, { signal })
  const type = input.text('type')
  const fits = (entry: ActivityEntry) => type === undefined || entry.type === type
  out.list(await pageOf(input, pager, fits), activityColumns, say`Nothing has happened.`)
  return exit.done
}

const agentColumns: readonly Column<Agent>[] = [
  { head: 'SLUG', cell: ({ slug, primary }, forPeople) => (forPeople && primary ? `${slug} *` : slug) },
  { head: 'NAME', cell: ({ name }) => name, wide: true },
  { head: 'MODEL', cell: ({ model }) => model },
]

export const agents: Handler = async ({ out, client, signal }) => {
  const items = await (await client()).agents.list({ signal })
  out.list({ items }, agentColumns, say`There is no agent.`)
  return exit.done
}

export const agent: Handler = async ({ input, out, client, signal }) => {
  const found = await (await client()).agents.get(input.argument('SLUG'), { signal })
  out.document(found, () => [
    say`${bold(found.slug)}  ${found.name}${found.primary ? '  primary' : ''}  version ${found.versionNumber}`,
    say`model    ${found.model}   at most ${found.maxCostPerRun === null ? 'no limit' : money(found.maxCostPerRun)} a run   reaches outside: ${found.outside}`,
    say`tools    ${found.tools.join(' ') || 'none'}`,
    say`skills   ${found.skills.join(' ') || 'none'}`,
    say``,
    block(found.instructions),
  ])
  return exit.done
}

const workspaceColumns: readonly Column<Workspace>[] = [
  { head: 'ID', cell: ({ id }) => id },
  { head: 'NAME', cell: ({ name }) => name, wide: true },
  { head: 'KIND', cell: ({ kind }) => kind },
  { head: 'ROLE', cell: ({ role }) => role },
]

export const workspaces: Handler = async ({ out, person, signal }) => {
  const items = await (await person()).workspaces.list({ signal })
  out.list({ items }, workspaceColumns, say`There is no workspace.`)
  return exit.done
}

export const createWorkspace: Handler = async ({ input, out, person, signal }) => {
  const made = await (await person()).workspaces.create({ name: input.argument('NAME') }, { signal })
  out.document(made, () => [say`${made.id}`])
  out.done(say`Made ${made.name}. A key for it: guild login --profile NAME, confirmed in that workspace`)
  return exit.done
}

/** A key belongs to one workspace, so that acting in another means acting with another key. */
export const useWorkspace: Handler = async ({ input, out, settings }) => {
  const wanted = input.argument('ID')
  const found = Object.entries(settings.config.profiles).find(
    ([, { workspace }]) => workspace?.id === wanted || workspace?.name === wanted,
  )
  if (!found) {
    throw new Failure({
      exitCode: exit.notFound,
      message: `No key is stored for a workspace "${wanted}".`,
      next: [
        `guild login ${settings.baseUrl ?? 'https://guild.example'} --profile NAME   (confirm it in that workspace)`,
        'guild auth status --all',
      ],
    })
  }
  const [profile, { workspace }] = found
  changeConfig(settings.environment, (config) => {
    config.current = profile
  })
  out.document({ profile, workspace }, () => [])
  out.done(say`Now using ${profile} (${workspace?.name ?? workspace?.id}).`)
  return exit.done
}
