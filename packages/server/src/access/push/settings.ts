import type { NotificationSettings } from '@guildhall/contract'
import { ApiError } from '#operations/errors.ts'
import type { Db, Tx } from '#platform/database.ts'
import { readMoment } from '#platform/moment.ts'
import * as store from './settings-store.ts'

const ofWhoChangedNothing: NotificationSettings = {
  approvals: 'all',
  questions: true,
  budget: true,
  quiet: null,
  digest: null,
  muted: [],
}

export async function readSettings(db: Db, userId: string): Promise<NotificationSettings> {
  return (await store.findSettings(db, userId)) ?? ofWhoChangedNothing
}

/** Hold the person's row: of two changes at once neither is lost. */
export async function changeSettings(tx: Tx, userId: string, changes: Partial<NotificationSettings>) {
  const before = await readSettings(tx, userId)
  const {
    approvals = before.approvals,
    questions = before.questions,
    budget = before.budget,
    quiet = before.quiet,
    digest = before.digest,
    muted = before.muted,
  } = changes
  if (quiet && quiet.from === quiet.to)
    throw invalid('quiet: these hours end when they begin; give another end, or null for none')
  const unknown = await store.listUnknownZones(
    tx,
    [changes.quiet, changes.digest].flatMap((given) => (given ? [given.timezone] : [])),
  )
  if (unknown.length > 0) throw invalid(`timezone: "${unknown[0]}" is none; give one as in Europe/London`)
  const settings = { approvals, questions, budget, quiet, digest, muted: muted.map(readMuted) }
  await store.updateSettings(tx, userId, settings)
}

function readMuted({ apiKeyId, until }: NotificationSettings['muted'][number]) {
  const moment = readMoment(until)
  if (moment === undefined) throw invalid(`muted: "${until}" is no moment`)
  return { apiKeyId, until: moment }
}

function invalid(message: string): ApiError {
  return new ApiError('INVALID_INPUT', { message })
}
