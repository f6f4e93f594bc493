import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { atSize } from '../../../../test/support/sizes.ts'
import { definitionOf } from '../../../../test/support/workflows.ts'
import { Guildhall } from '../../../sdk/src/index.ts'
import { createDatabase, type House, openHouse } from '../support/house.ts'
import { type Ingress, openIngress } from '../support/ingress.ts'

/** Lists of every style, walked by the library while rows arrive: none comes twice, and none of before is missing. */
const before = 45
const arriving = atSize(60, 200)
const limit = 10
/** Faster than they are read, so that pages move while they are walked, and all have come before the walk ends. */
const perRead = Math.ceil(arriving / before) + 1

let ingress: Ingress
let house: House
let database: pg.Client
let guild: Guildhall
let skill: string

beforeAll(async () => {
  ingress = await openIngress()
  const databaseUrl = await createDatabase()
  house = await openHouse({
    DATABASE_URL: databaseUrl,
    RESTATE_INGRESS_URL: ingress.url,
    STARTING_CREDITS: '1000',
  })
  database = new pg.Client({ connectionString: databaseUrl })
  await database.connect()
  const person = await house.newPerson()
  guild = new Guildhall({ baseUrl: house.url, authToken: person.token })
  const content = '---\nname: writer\ndescription: Writes what it is asked to write.\n---\nWrite.\n'
  skill = (await guild.artifacts.create({ type: 'skill', files: [{ path: 'SKILL.md', content }] })).id
  await guild.skills.install('writer', { artifactId: skill })
  await guild.workflows.install('steps', {
    definition: definitionOf('steps', [{ type: 'tool', id: 'ask', toolId: 'ask-human' }]),
  })
})

afterAll(async () => {
  await database?.end()
  await house?.close()
  await ingress?.close()
})

interface Style {
  /** Makes one more, and gives what the list calls it. */
  make(number: number): Promise<string>
  list(): AsyncIterable<string>
}

async function* named<T>(items: AsyncIterable<T>, nameOf: (item: T) => string) {
  for await (const item of items) yield nameOf(item)
}

/** Some stand before all others in the order of the list, some after. */
const slugOf = (number: number) => `${number % 2 === 0 ? 'a' : 'z'}-${number}`

const styles: Record<string, Style> = {
  'items and a cursor': {
    make: async () =>
      (await guild.artifacts.create({ type: 'file', files: [{ path: 'a', content: 'a' }] })).id,
    list: () => named(guild.artifacts.list({ limit }), ({ id }) => id),
  },
  'executions and a cursor': {
    make: async () => (await guild.executions.create({ skill_slug: 'writer', input: 'Write.' })).id,
    list: () => named(guild.executions.list({ limit }), ({ executionId }) => executionId),
  },
  'runs and a cursor': {
    make: async () => (await guild.workflows.launch('steps')).id,
    list: () => named(guild.runs.list({ limit }), ({ runId }) => runId),
  },
  'an offset, and whether there is more': {
    make: async (number) => (await guild.skills.install(slugOf(number), { artifactId: skill })).slug,
    list: () => named(guild.skills.list({ limit }), ({ slug }) => slug),
  },
  'a bare array by offset': {
    make: async (number) => {
      await database.query(
        `insert into catalog_skills (slug, source, repository, commit_hash, bundle_checksum, name, description,
           category, prompt, author, version, allowed_tools, scopes)
         select $1, 'test', 'https://git.test/skills', repeat('b', 40), checksum, $1, 'Does it.', 'writing', 'Do.', 'A',
           '1.0.0', '{}', '{}' from bundles limit 1`,
        [slugOf(number)],
      )
      return slugOf(number)
    },
    list: () => named(guild.marketplace.search({ limit }), ({ slug }) => slug),
  },
}

test.each(Object.entries(styles))(
  '%s',
  async (_name, { make, list }) => {
    const early: string[] = []
    for (let number = 0; number < before; number++) early.push(await make(number))
    const seen: string[] = []
    let made = 0
    for await (const item of list()) {
      seen.push(item)
      while (made < arriving && made < seen.length * perRead) await make(before + made++)
    }
    expect(made).toBe(arriving)
    expect(seen.length).toBeGreaterThan(limit * 3)
    expect(new Set(seen).size).toBe(seen.length)
    expect(early.filter((id) => !seen.includes(id))).toEqual([])
  },
  20_000 + arriving * 500,
)
