import type { TouchReaders } from '#access/consent/consent.ts'
import { listTouchedThings } from '#accounts/activity/activity.ts'
import { listAgentSlugs } from '#library/agents/agents.ts'
import { listTouchedArtifacts } from '#library/artifacts/artifacts.ts'
import { listInstalledAmong } from '#library/skills/skills.ts'
import { listWorkflowsAmong } from '#library/workflows/workflows.ts'
import type { Db } from '#platform/database.ts'
import { joinTouched, type Touched, type Touching } from '#platform/touched.ts'
import { listTouchedExecutions } from '#running/executions/executions.ts'
import { listTouchedRuns } from '#running/runs/runs.ts'
import { listTouchedChats } from '#running/threads/threads.ts'
import { listTouchedTraces } from '#running/traces/traces.ts'

type Things = 'skill' | 'workflow' | 'agent'

/** What each word of the log says was done with a thing of the library. */
const lines = {
  skill: ['skill.installed', 'skill.updated', 'skill.uninstalled'],
  workflow: ['workflow.installed', 'workflow.updated', 'workflow.uninstalled'],
  agent: ['agent.created', 'agent.updated', 'agent.deleted'],
} as const

const present = {
  skill: listInstalledAmong,
  workflow: listWorkflowsAmong,
  agent: (db: Db, workspaceId: string) => listAgentSlugs(db, workspaceId),
}

/** Of what can be had again in an earlier version. */
const isKeptInVersions: Readonly<Record<Things, boolean>> = { skill: true, workflow: false, agent: true }

/** Joins what features know about what a key did. */
export function touchReaders(db: Db): TouchReaders {
  const things = (kind: Things) => [kind, (touching: Touching) => readThings(db, touching, kind)] as const
  return [
    ['execution', (touching) => listTouchedExecutions(db, touching)],
    ['workflow-run', (touching) => listTouchedRuns(db, touching)],
    ['chat', (touching) => listTouchedChats(db, touching)],
    things('skill'),
    things('workflow'),
    things('agent'),
    ['artifact', (touching) => readArtifacts(db, touching)],
    ['trace', (touching) => listTouchedTraces(db, touching)],
  ]
}

async function readThings(db: Db, touching: Touching, kind: Things): Promise<Touched> {
  const found = await listTouchedThings(db, touching, lines[kind])
  const slugs = found.map(({ id }) => id)
  const there = new Set(await present[kind](db, touching.workspaceId, slugs))
  const items = found.map(({ id, title, at, first }) => {
    const isNew = first === lines[kind][0]
    const undo = isNew ? ('undo' as const) : isKeptInVersions[kind] ? ('restore' as const) : null
    return { id, title, at, undo: there.has(id) ? undo : null }
  })
  return { count: found[0]?.count ?? 0, items }
}

async function readArtifacts(db: Db, touching: Touching): Promise<Touched> {
  const deleted = await listTouchedThings(db, touching, ['artifact.deleted'])
  const items = deleted.map(({ id, title, at }) => ({ id, title, at, undo: null }))
  return joinTouched(await listTouchedArtifacts(db, touching), { count: deleted[0]?.count ?? 0, items })
}
