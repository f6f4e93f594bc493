import type { TurnType } from '@guildhall/contract'
import { CompiledQuery, type Insertable, type Selectable, sql } from 'kysely'
import { thisMoment } from '#platform/clock.ts'
import type { Db, Tx } from '#platform/database.ts'
import type { ProducerKind, Tables, TraceStatus } from '#platform/tables.ts'
import { listQuery, type TraceFilter, type TracePlace } from './list.ts'

export type NewTrace = Insertable<Tables['traces']>

export async function insertTrace(tx: Tx, trace: NewTrace): Promise<void> {
  await tx.insertInto('traces').values(trace).execute()
}

/** With its one producer; nothing where there is one of that id. */
export async function insertChatTrace(
  tx: Tx,
  trace: NewTrace & { readonly id: string; readonly agent_slug: string; readonly thread_row_id: number },
): Promise<void> {
  await tx
    .insertInto('traces')
    .values(trace)
    .onConflict((conflict) => conflict.doNothing())
    .execute()
  await tx
    .insertInto('trace_producers')
    .values({
      trace_id: trace.id,
      kind: 'thread',
      producer_row_id: trace.thread_row_id,
      agent_slug: trace.agent_slug,
    })
    .onConflict((conflict) => conflict.doNothing())
    .execute()
}

export async function deleteTrace(tx: Tx, workspaceId: string, id: string): Promise<void> {
  await tx.deleteFrom('traces').where('workspace_id', '=', workspaceId).where('id', '=', id).execute()
}

export type FoundTrace = Selectable<Tables['traces']>

export async function findTrace(db: Db, workspaceId: string, id: string) {
  return db
    .selectFrom('traces')
    .selectAll()
    .where('workspace_id', '=', workspaceId)
    .where('id', '=', id)
    .executeTakeFirst()
}

export interface TraceChange {
  status: TraceStatus
  /** Null: it stays as it is. */
  executionId: string | null
  agentSlug: string | null
  chargedMilliDs: number
  /** Something that never ran says nothing about what else ran on the trace. */
  onlyIfIdle: boolean
}

/** Cost is added, never set: several runs of one lineage may land on one trace. The first to say who it is, is its agent. */
export async function updateTrace(
  tx: Tx,
  workspaceId: string,
  id: string,
  { status, executionId, agentSlug, chargedMilliDs, onlyIfIdle }: TraceChange,
): Promise<void> {
  let query = tx
    .updateTable('traces')
    .set((e) => ({
      status,
      ...(executionId !== null && { execution_id: executionId }),
      agent_slug: e.fn.coalesce('agent_slug', e.val(agentSlug)),
      total_cost_milli_ds: e('total_cost_milli_ds', '+', chargedMilliDs),
      last_activity_at: thisMoment,
    }))
    .where('workspace_id', '=', workspaceId)
    .where('id', '=', id)
  if (onlyIfIdle) query = query.where('status', '=', 'idle')
  await query.execute()
}

/** After something has ended for less than it was shown to have cost: what its lineage is shown to cost must not fall. */
export async function updateShown(tx: Tx, workspaceId: string, id: string, waivedMilliDs: number) {
  await sql`
    insert into lineages (trace_key, workspace_id, shown_milli_ds)
    select t.trace_key, t.workspace_id, coalesce(l.settled_milli_ds, 0) + ${waivedMilliDs}::bigint
      + coalesce((select sum(r.cost_milli_ds) from running_costs(t.workspace_id) r where r.trace_key = t.trace_key), 0)
    from traces t left join lineages l on l.trace_key = t.trace_key
    where t.workspace_id = ${workspaceId} and t.id = ${id}
    on conflict (trace_key) do update
      set shown_milli_ds = greatest(lineages.shown_milli_ds, excluded.shown_milli_ds)`.execute(tx)
}

export type TraceRow = FoundTrace & {
  readonly lineage_cost_milli_ds: number
  readonly own_cost_milli_ds: number
}

/**
 * Rows of traces with what they cost. What is settled and what runs now is read in one snapshot: between the two no
 * amount is missing, and none is counted twice. `$1` is the workspace.
 */
const withCosts = (rows: string) => `with running as materialized (select * from running_costs($1::uuid))
  select t.*,
    greatest(coalesce(l.shown_milli_ds, 0), coalesce(l.settled_milli_ds, 0) + coalesce((
      select sum(r.cost_milli_ds)::bigint from running r where r.trace_key = t.trace_key), 0)) as lineage_cost_milli_ds,
    t.total_cost_milli_ds + coalesce((
      select sum(r.cost_milli_ds)::bigint from running r where r.trace_id = t.id), 0) as own_cost_milli_ds
  from (${rows}) t left join lineages l on l.trace_key = t.trace_key
  order by t.last_activity_at desc, t.row_id desc`

const oneTrace = withCosts('select * from traces where workspace_id = $1::uuid and id = $2')

export async function findTraceWithCosts(db: Db, workspaceId: string, id: string) {
  const { rows } = await db.executeQuery<TraceRow>(CompiledQuery.raw(oneTrace, [workspaceId, id]))
  return rows[0]
}

export async function listTraces(
  db: Db,
  workspaceId: string,
  filter: TraceFilter,
  page: { limit: number; after?: TracePlace | undefined },
): Promise<TraceRow[]> {
  const query = listQuery(workspaceId, filter, page)
  if (!query) return []
  const { rows } = await db.executeQuery<TraceRow>(
    CompiledQuery.raw(withCosts(query.text), [...query.values]),
  )
  return rows
}

/**
 * The moment before which no activity can come to light any more. Activity has the time at which its transaction began:
 * one that waits for several rows, or whose process stands still, may take longer than a statement.
 */
export async function findSettledMoment(db: Db): Promise<string> {
  const { rows } = await sql<{ at: string }>`
    select date_trunc('milliseconds', guild_now() - greatest(interval '15 seconds', now() - min(xact_start))) as at
    from pg_stat_activity where datname = current_database() and backend_type = 'client backend'`.execute(db)
  return rows[0]?.at ?? ''
}

export interface OpenProducer {
  readonly id: number
  readonly kind: ProducerKind
  readonly rowId: number
  readonly indexedThrough: number
}

/** How far the numbers of a trace go, and who may still add to them. Undefined when there is no such trace here. */
export async function findReach(db: Db, workspaceId: string, id: string) {
  const { rows } = await sql<{ last_seq: number; producer: OpenProducer | null }>`
    select t.last_seq, case when p.id is not null then json_build_object('id', p.id, 'kind', p.kind,
      'rowId', p.producer_row_id, 'indexedThrough', p.indexed_through) end as producer
    from traces t left join trace_producers p on p.trace_id = t.id and not p.done
    where t.workspace_id = ${workspaceId} and t.id = ${id} order by p.id`.execute(db)
  const [first] = rows
  return first && { lastSeq: first.last_seq, open: rows.flatMap(({ producer }) => producer ?? []) }
}

/** Whoever gives out numbers holds this row; producers, who only write their own logs, do not wait for it. */
export async function lockTrace(tx: Tx, workspaceId: string, id: string) {
  return tx
    .selectFrom('traces')
    .select(['id', 'last_seq', 'appended_turns'])
    .where('workspace_id', '=', workspaceId)
    .where('id', '=', id)
    .forNoKeyUpdate()
    .executeTakeFirst()
}

export async function listOpenProducers(db: Db, traceId: string): Promise<OpenProducer[]> {
  return db
    .selectFrom('trace_producers')
    .select(['id', 'kind', 'producer_row_id as rowId', 'indexed_through as indexedThrough'])
    .where('trace_id', '=', traceId)
    .where('done', '=', false)
    .orderBy('id')
    .execute()
}

/** The numbers `firstSeq` to `lastSeq` are a producer's events from `firstEvent` on. */
export interface Piece {
  readonly firstSeq: number
  readonly lastSeq: number
  readonly producerId: number
  readonly firstEvent: number
}

export async function findLastPiece(db: Db, traceId: string): Promise<Piece | undefined> {
  return db
    .selectFrom('trace_pieces')
    .select([
      'first_seq as firstSeq',
      'last_seq as lastSeq',
      'producer_id as producerId',
      'first_event as firstEvent',
    ])
    .where('trace_id', '=', traceId)
    .orderBy('first_seq', 'desc')
    .limit(1)
    .executeTakeFirst()
}

export interface CatalogueChange {
  readonly lastSeq: number
  readonly pieces: readonly Piece[]
  readonly producers: readonly {
    readonly id: number
    readonly indexedThrough: number
    readonly done: boolean
  }[]
}

/** One statement: pieces that are new or reach further, how far producers are known, the last number. */
export async function updateCatalogue(tx: Tx, traceId: string, change: CatalogueChange): Promise<void> {
  const { lastSeq, pieces, producers } = change
  await sql`
    with written as (
      insert into trace_pieces (trace_id, first_seq, last_seq, producer_id, first_event)
      select ${traceId}, * from unnest(${pieces.map((piece) => piece.firstSeq)}::bigint[],
        ${pieces.map((piece) => piece.lastSeq)}::bigint[], ${pieces.map((piece) => piece.producerId)}::bigint[],
        ${pieces.map((piece) => piece.firstEvent)}::int[])
      on conflict (trace_id, first_seq) do update set last_seq = excluded.last_seq),
    known as (
      update trace_producers p set indexed_through = k.indexed_through, done = k.done
      from unnest(${producers.map(({ id }) => id)}::bigint[],
        ${producers.map(({ indexedThrough }) => indexedThrough)}::int[],
        ${producers.map(({ done }) => done)}::boolean[]) k (id, indexed_through, done)
      where p.trace_id = ${traceId} and p.id = k.id)
    update traces set last_seq = ${lastSeq} where id = ${traceId} and last_seq <> ${lastSeq}`.execute(tx)
}

export type ProducedPiece = Piece & {
  readonly kind: ProducerKind
  readonly rowId: number
  readonly agentSlug: string | null
}

/** The pieces that reach beyond a number, in order. They lie one behind the other, so at most one begins before it. */
export async function listPieces(
  db: Db,
  traceId: string,
  { after, through, most }: { after: number; through: number; most: number },
): Promise<ProducedPiece[]> {
  const { rows } = await sql<ProducedPiece>`
    select e.first_seq as "firstSeq", least(e.last_seq, ${through}::bigint) as "lastSeq", e.producer_id as "producerId",
      e.first_event as "firstEvent", p.kind, p.producer_row_id as "rowId", p.agent_slug as "agentSlug"
    from trace_pieces e join trace_producers p on p.trace_id = e.trace_id and p.id = e.producer_id
    where e.trace_id = ${traceId} and e.last_seq > ${after} and e.first_seq <= ${through}
      and e.first_seq >= coalesce((select max(b.first_seq) from trace_pieces b
        where b.trace_id = ${traceId} and b.first_seq <= ${after}::bigint + 1), 0)
    order by e.first_seq limit ${most}`.execute(db)
  return rows
}

type AppendedTurn = Pick<
  Selectable<Tables['trace_turns']>,
  'seq' | 'type' | 'payload' | 'agent_slug' | 'at'
> & { readonly bytes: number }

/** At most so many, and no more once they have so many bytes together; the first one whatever it has. */
export async function listAppended(
  db: Db,
  traceId: string,
  { after, through, most, bytes }: { after: number; through: number; most: number; bytes: number },
): Promise<AppendedTurn[]> {
  const { rows } = await sql<AppendedTurn>`
    select seq, type, payload, agent_slug, at, bytes from (
      select seq, type, payload, agent_slug, at, octet_length(payload) as bytes,
        sum(octet_length(payload)) over (order by seq) - octet_length(payload) as before
      from trace_turns where trace_id = ${traceId} and seq > ${after} and seq <= ${through}
      order by seq limit ${most}) turns
    where before < ${bytes} order by seq`.execute(db)
  return rows
}

/** Those of the numbers that appended turns hold. */
export async function listTaken(db: Db, traceId: string, seqs: readonly number[]) {
  return db
    .selectFrom('trace_turns')
    .select(['seq', 'type', 'payload', 'agent_slug'])
    .where('trace_id', '=', traceId)
    .where('seq', 'in', seqs)
    .orderBy('seq')
    .execute()
}

export interface NewTurn {
  readonly seq: number
  readonly type: TurnType
  readonly payload: string
}

export async function insertTurns(
  tx: Tx,
  traceId: string,
  by: { readonly userId: string; readonly apiKeyId: number | null; readonly agentSlug: string | null },
  turns: readonly NewTurn[],
): Promise<void> {
  await sql`
    with appended as (
      insert into trace_turns (trace_id, seq, type, payload, agent_slug, user_id, api_key_id)
      select ${traceId}, seq, type, payload, ${by.agentSlug}, ${by.userId}::uuid, ${by.apiKeyId}::bigint
      from unnest(${turns.map(({ seq }) => seq)}::bigint[], ${turns.map(({ type }) => type)}::text[],
        ${turns.map(({ payload }) => payload)}::text[]) as given (seq, type, payload))
    update traces set last_seq = ${turns.at(-1)?.seq ?? 0}, appended_turns = appended_turns + ${turns.length},
      appended_bytes = appended_bytes + ${turns.reduce((sum, { payload }) => sum + Buffer.byteLength(payload), 0)},
      last_activity_at = guild_moment()
    where id = ${traceId}`.execute(tx)
}

/** Read by whoever has just appended: it holds the row until it is committed, so of any number at once each is counted. */
export async function findAppendedBytes(tx: Tx, workspaceId: string): Promise<number> {
  const row = await tx
    .selectFrom('trace_usage')
    .select('bytes')
    .where('workspace_id', '=', workspaceId)
    .executeTakeFirst()
  return row?.bytes ?? 0
}

/** What is marked already stays as it is: by whom and why it was first. */
export async function insertMarks(
  tx: Tx,
  traceId: string,
  seqs: readonly number[],
  { by, reason }: { readonly by: string; readonly reason: string | null },
): Promise<void> {
  await tx
    .insertInto('trace_marks')
    .values([...new Set(seqs)].map((seq) => ({ trace_id: traceId, seq, marked_by: by, reason })))
    .onConflict((conflict) => conflict.doNothing())
    .execute()
}

export async function deleteMarks(tx: Tx, traceId: string, seqs: readonly number[]): Promise<void> {
  await tx.deleteFrom('trace_marks').where('trace_id', '=', traceId).where('seq', 'in', seqs).execute()
}

/** Whether an appended turn has this number; nothing is left of what it said. */
export async function updateErased(tx: Tx, traceId: string, seq: number, payload: string): Promise<boolean> {
  const { numUpdatedRows } = await tx
    .updateTable('trace_turns')
    .set({ payload })
    .where('trace_id', '=', traceId)
    .where('seq', '=', seq)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/** The numbers of the turns that somebody does not want to leave with the trace. */
export async function listMarks(db: Db, traceId: string): Promise<number[]> {
  const rows = await db.selectFrom('trace_marks').select('seq').where('trace_id', '=', traceId).execute()
  return rows.map(({ seq }) => seq)
}

/** Who works on it from now on. */
export async function updateHolder(
  tx: Tx,
  id: string,
  { apiKeyId, agentSlug }: { readonly apiKeyId: number | null; readonly agentSlug: string | null },
): Promise<void> {
  await tx
    .updateTable('traces')
    .set({ holder_key_id: apiKeyId, holder_slug: agentSlug, held_since: thisMoment })
    .where('id', '=', id)
    .execute()
}

/** Whether anything was said on a trace that an execution joined: by what joined before it, or by who appended. */
export async function hasEarlierTurns(db: Db, traceId: string, executionRowId: number): Promise<boolean> {
  const { rows } = await sql<{ earlier: boolean }>`
    select t.appended_turns > 0 or exists (select from trace_producers p
      where p.trace_id = t.id and (p.kind <> 'execution' or p.producer_row_id <> ${executionRowId})) as earlier
    from traces t where t.id = ${traceId}`.execute(db)
  return rows[0]?.earlier ?? false
}

/** The number of an execution's first turn; undefined while it has none. */
export async function findFirstSeq(
  db: Db,
  traceId: string,
  executionRowId: number,
): Promise<number | undefined> {
  const { rows } = await sql<{ first: number | null }>`
    select min(e.first_seq) as first from trace_producers p join trace_pieces e on e.trace_id = p.trace_id and e.producer_id = p.id
    where p.trace_id = ${traceId} and p.kind = 'execution' and p.producer_row_id = ${executionRowId}`.execute(
    db,
  )
  return rows[0]?.first ?? undefined
}
