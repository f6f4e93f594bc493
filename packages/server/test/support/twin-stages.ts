import pg from 'pg'
import { expect } from 'vitest'
import type { Person } from '../../../../test/support/caller.ts'
import { patienceFor } from '../../../../test/support/sizes.ts'
import { createDatabase, type House, openHouse } from './house.ts'
import { openIngress } from './ingress.ts'
import { type Changes, type Column, listColumns, type Row, watchRows } from './records.ts'
import { redisUrl } from './redis.ts'
import { models, operatorToken, type Stage, stageIn } from './writing-stage.ts'

interface Twin extends Stage {
  readonly client: pg.Client
  look(): Promise<Changes>
}

/** Two stages that begin with the same records, to see whether the same cases leave the same behind. */
export interface Twins {
  readonly first: Twin
  readonly second: Twin
  readonly columns: readonly Column[]
  /** Somebody who is there from the beginning. */
  readonly strangers: Person
  /** Rows that only one of them has, but for what is drawn by lot. */
  differences(): Promise<string[]>
  /** The same as of the last look: all that happens on the stages is played between two looks. */
  lastDifferences(): Promise<string[]>
  /** What follows an answer may be written a moment later. */
  expectNoneBut(before: readonly string[]): Promise<void>
  close(): Promise<void>
}

export async function openTwins(): Promise<Twins> {
  const ingress = await openIngress()
  const open = (databaseUrl: string, redis = '0'): Promise<House> =>
    openHouse({
      DATABASE_URL: databaseUrl,
      // What is counted and told in Redis is a stage's own.
      REDIS_URL: `${redisUrl()}/${redis}`,
      RESTATE_INGRESS_URL: ingress.url,
      STARTING_CREDITS: '1000',
      OPERATOR_TOKEN: operatorToken,
      MODELS: JSON.stringify(models),
    })
  const openStage = async (base: string, redis: string): Promise<Twin> => {
    const databaseUrl = await createDatabase(new URL(base).pathname.slice(1))
    const client = new pg.Client({ connectionString: databaseUrl })
    await client.connect()
    const look = watchRows(client, await listColumns(client), isDrawn)
    return { ...stageIn(await open(databaseUrl, redis), 'case'), client, look }
  }
  const base = await createDatabase()
  const beginning = await open(base)
  const strangers = await beginning.newPerson({ email: 'stranger@cases.test' })
  await beginning.close()
  const [first, second] = [await openStage(base, '1'), await openStage(base, '2')]
  const columns = await listColumns(first.client)
  const known = new Set(JSON.stringify(await watchRows(first.client, columns)()).match(uuids))
  const clean = ({ table, text }: Row): string => `${table} ${withoutLots(text, known)}`
  /** How many more of a row the second has than the first, where they differ. */
  const more = new Map<string, number>()
  const count = (rows: readonly Row[], by: number): void => {
    for (const row of rows.map(clean)) {
      const now = (more.get(row) ?? 0) + by
      if (now === 0) more.delete(row)
      else more.set(row, now)
    }
  }
  let last: string[] | undefined
  const differences = async (): Promise<string[]> => {
    const [those, these] = await Promise.all([first.look(), second.look()])
    count(those.removed, 1)
    count(those.added, -1)
    count(these.removed, -1)
    count(these.added, 1)
    last = [...more]
      .flatMap(([row, count]) => Array(Math.abs(count)).fill(`${count < 0 ? '-' : '+'} ${row}`))
      .sort((a, b) => Number(a.startsWith('+')) - Number(b.startsWith('+')))
    return last
  }
  return {
    first,
    second,
    columns,
    strangers,
    differences,
    lastDifferences: async () => last ?? differences(),
    expectNoneBut: async (before) => {
      const added = async () => (await differences()).filter((row) => !before.includes(row))
      const end = performance.now() + patienceFor(2000)
      let left = await added()
      while (left.length > 0 && performance.now() < end) {
        await new Promise((resolve) => setTimeout(resolve, 100))
        left = await added()
      }
      // Compared, not polled: a row that only one of them has is wrong, not late.
      expect(left, left.join(' | ')).toEqual([])
    },
    close: async () => {
      for (const { house, client } of [first, second]) {
        await house.close()
        await client.end()
      }
      await ingress.close()
    },
  }
}

const uuids = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g

/** Times, and what is drawn by lot or made of it. */
const isDrawn = ({ table, name, type }: Column) =>
  type.startsWith('timestamp') ||
  type === 'bytea' ||
  [
    'api_keys.hint',
    'activations.user_code',
    'activations.match_number',
    'activations.match_choices',
    'approval_requests.link_code',
    'oauth_clients.id',
    'passkeys.id',
    // Of a body that names what was made just before.
    'grants.bound_body_sha256',
  ].includes(`${table}.${name}`)

/**
 * A text with what was drawn by lot since the beginning left out: it is another on every stage. The longest first: part
 * of one may look like another.
 */
export function withoutLots(text: string, known: ReadonlySet<string> = new Set()): string {
  return text
    .replace(/"(?:resource_)?id": "[A-Za-z0-9_-]{22}"/g, '<id>')
    .replace(uuids, (uuid) => (known.has(uuid) ? uuid : '<uuid>'))
    .replace(/\b[A-HJ-NP-Z2-9]{4}-[A-HJ-NP-Z2-9]{4}\b/g, '<code>')
    .replace(/"match":"\d\d"/g, '"match":"<drawn>"')
    .replace(/app_[A-Za-z0-9]{20}|workflow_[0-9a-f]{40}/g, '<id>')
    .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, '<time>')
}
