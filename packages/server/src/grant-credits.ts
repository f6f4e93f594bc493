import { parseArgs } from 'node:util'
import { fromDs } from '@guildhall/contract'
import { changeCredits } from '#accounts/billing/billing.ts'
import { findUser, findUserByVerifiedEmail } from '#accounts/users/users.ts'
import { Database } from '#platform/database.ts'
import { isUuid } from '#platform/ids.ts'
import { createLogger } from '#platform/logger.ts'

const usage = `Usage: npm run credits:grant -- --user <id or verified email> --amount <Ds> [--kind grant|refund|adjust] [--note <text>]
An amount has at most three decimals. An adjustment may be negative: --kind adjust --amount=-12.5`

const kinds = ['grant', 'refund', 'adjust'] as const

interface Order {
  user: string
  kind: (typeof kinds)[number]
  amountMilliDs: number
  note: string | null
}

function readOrder(): Order | undefined {
  try {
    const { values } = parseArgs({
      options: {
        user: { type: 'string' },
        amount: { type: 'string' },
        kind: { type: 'string', default: 'grant' },
        note: { type: 'string' },
      },
    })
    const kind = kinds.find((each) => each === values.kind)
    const amountMilliDs = readAmount(values.amount ?? '')
    if (!values.user || !kind || !amountMilliDs || (amountMilliDs < 0 && kind !== 'adjust')) return undefined
    return { user: values.user, kind, amountMilliDs, note: values.note ?? null }
  } catch {
    return undefined
  }
}

/** At most a billion Ds, as elsewhere. */
function readAmount(text: string): number | undefined {
  return /^-?\d{1,9}(\.\d{1,3})?$/.test(text) ? fromDs(Number(text)) : undefined
}

async function carryOut(database: Database, order: Order): Promise<string | undefined> {
  const user = await (isUuid(order.user)
    ? findUser(database.db, order.user)
    : findUserByVerifiedEmail(database.db, order.user))
  if (!user) {
    console.error(
      `Nobody is known as ${order.user}: give the id or the verified email of a person who has signed in`,
    )
    return undefined
  }
  const after = await database.transaction((tx) => changeCredits(tx, { ...order, userId: user.id }))
  if (!after) {
    const most = order.kind === 'refund' ? 'was spent' : 'is available'
    console.error(`Nothing was changed: a ${order.kind} takes at most what ${most}`)
    return undefined
  }
  return `${user.email ?? user.id}: balance ${after.balance} Ds, available ${after.availableBalance} Ds`
}

const url = process.env['DATABASE_URL']
const order = readOrder()
if (!url || !order) {
  console.error(url ? usage : 'DATABASE_URL is not set: say which database holds the account')
  process.exit(2)
}
const database = new Database({ url, poolSize: 1, logger: createLogger('error', process.stderr) })
const outcome = await carryOut(database, order).finally(() => database.close())
if (outcome === undefined) process.exit(1)
console.log(outcome)
