import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { PreparedJson } from '#operations/answer.ts'
import type { Database } from '#platform/database.ts'
import * as store from './store.ts'

interface PreparedList {
  revision: number
  body: PreparedJson
  isEmpty: boolean
}

const compress = promisify(gzip)
const rowsAtOnce = 1000

/**
 * Whole lists, of everything or of one category, each made once per revision of the catalog. A request costs one
 * look at the revision; those that come while a list is made share the making.
 */
export function createPreparedLists(database: Database) {
  const kept = new Map<string | undefined, PreparedList>()
  const underWay = new Map<string | undefined, Promise<PreparedList>>()

  const keep = (category: string | undefined, list: PreparedList) => {
    for (const [key, { revision }] of kept) if (revision < list.revision) kept.delete(key)
    // Anybody can ask for categories that nothing has; they are not remembered.
    if (!list.isEmpty || category === undefined) kept.set(category, list)
    return list
  }

  const prepareOnce = (category: string | undefined): Promise<PreparedList> => {
    const running = underWay.get(category)
    if (running) return running
    const started = prepareList(database, category)
      .then((list) => keep(category, list))
      .finally(() => underWay.delete(category))
    underWay.set(category, started)
    return started
  }

  return async (category: string | undefined): Promise<PreparedJson> => {
    const [state] = await database.hot<{ revision: number }>(store.findRevisionStatement, [])
    const revision = state?.revision ?? 0
    const known = kept.get(category)
    if (known && known.revision >= revision) return known.body
    const list = await prepareOnce(category)
    // One that was under way already may have begun before this revision.
    return (list.revision >= revision ? list : await prepareOnce(category)).body
  }
}

async function prepareList(database: Database, category: string | undefined): Promise<PreparedList> {
  const { revision, chunks, isEmpty } = await store.inSnapshot(database.db, async (tx) => {
    const revision = await store.findRevision(tx)
    const chunks = [Buffer.from('[')]
    let after = ''
    for (;;) {
      const items = await store.listItemsAfter(tx, { category, after, limit: rowsAtOnce })
      const last = items.at(-1)
      if (!last) break
      chunks.push(Buffer.from((after === '' ? '' : ',') + JSON.stringify(items).slice(1, -1)))
      after = last.slug
    }
    chunks.push(Buffer.from(']'))
    return { revision, chunks, isEmpty: after === '' }
  })
  const plain = Buffer.concat(chunks)
  const hash = createHash('sha256').update(plain).digest('base64url')
  // Weak: the plain and the compressed bytes are the same list, not the same bytes.
  return { revision, isEmpty, body: { etag: `W/"${hash}"`, plain, gzip: await compress(plain) } }
}
