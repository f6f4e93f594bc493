import { compileDefinition, type Workflow } from '../graph/graph.ts'
import type { Database } from '../platform/database.ts'
import * as store from './store.ts'

const most = 500

/** The definitions that runs were launched with, compiled. They never change, so the latest used ones are kept. */
export class PinnedDefinitions {
  readonly #database: Database
  readonly #compiled = new Map<string, Workflow>()

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
    if (known) {
      this.#compiled.delete(key)
      this.#compiled.set(key, known)
      return known
    }
    const text = await store.findDefinition(this.#database.db, checksum)
    const { workflow } = compileDefinition(text, { workspaceId })
    if (workflow) this.#keep(key, workflow)
    return workflow
  }

  #keep(key: string, workflow: Workflow): void {
    this.#compiled.set(key, workflow)
    const [oldest] = this.#compiled.keys()
    if (this.#compiled.size > most && oldest !== undefined) this.#compiled.delete(oldest)
  }
}
