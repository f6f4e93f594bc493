import { LRUCache } from 'lru-cache'
import { compileDefinition, type Workflow } from '#machinery/graph/graph.ts'
import type { Database } from '#platform/database.ts'
import * as store from './store.ts'

const most = 500

/** The definitions that runs were launched with, compiled. They never change, so the latest used ones are kept. */
export class PinnedDefinitions {
  readonly #database: Database
  readonly #compiled = new LRUCache<string, Workflow>({ max: most })

  constructor(database: Database) {
    this.#database = database
  }

  /** Undefined when this version of the service cannot run it. */
  async find({
    workspace_id: workspaceId,
    definition_checksum: checksum,
  }: Pick<store.RunRow, 'workspace_id' | 'definition_checksum'>): Promise<Workflow | undefined> {
    const key = `${workspaceId}:${checksum}`
    const known = this.#compiled.get(key)
    if (known) return known
    const text = await store.findDefinition(this.#database.db, checksum)
    const { workflow } = compileDefinition(text, { workspaceId })
    if (workflow) this.#compiled.set(key, workflow)
    return workflow
  }
}
