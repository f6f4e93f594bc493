import { createInterface, type Interface } from 'node:readline/promises'
import { type Approval, type Guildhall, NotFoundError } from '@guildhall/sdk'
import { openBrowser } from '../browser.ts'
import type { Handler } from '../command.ts'
import type { Context } from '../context.ts'
import { type ExitCode, exit } from '../exit-codes.ts'
import { Failure } from '../failure.ts'
import { bold, say } from '../output/safe-text.ts'
import { allowOne, asksFor, denyOne, needsApp, requirePresence, voices } from './decide.ts'

/** Cards as they come, in one session that nothing keeps; decided by lines, not by keys. */
export const watch: Handler = async (context) => {
  const { out, settings } = context
  const person = await context.person('now')
  const quit = new AbortController()
  const signal = AbortSignal.any([context.signal, quit.signal])
  const cards = new Cards(context, person)
  const typing = settings.mayPrompt ? readLines(cards, signal).finally(() => quit.abort()) : undefined
  try {
    for await (const event of person.events.subscribe({ signal })) {
      if (event.type === 'connected') await cards.reload()
      else if (event.type === 'approval-requested') await cards.add(event.approvalId)
      else if (event.type === 'approval-resolved') cards.settle(event.approvalId)
    }
  } catch (error) {
    if (!signal.aborted) throw error
  }
  await typing
  const ended: unknown = context.signal.aborted ? context.signal.reason : undefined
  const exitCode: ExitCode = ended instanceof Failure ? ended.exitCode : exit.done
  if (out.isJson) out.event({ type: 'guild.result', exitCode })
  return exitCode
}

/** Those that wait, each with a number of its own that it keeps. */
class Cards {
  readonly context: Context
  readonly #person: Guildhall
  readonly #cards = new Map<string, { number: number; approval: Approval }>()
  #last = 0

  constructor(context: Context, person: Guildhall) {
    this.context = context
    this.#person = person
  }

  /** Nothing that happened while there was no connection is repeated. */
  async reload(): Promise<void> {
    const { out, settings } = this.context
    const pending = new Set<string>()
    for await (const approval of this.#person.approvals.list({ status: 'pending' }, this.#options)) {
      pending.add(approval.id)
      this.#show(approval)
    }
    for (const id of this.#cards.keys()) if (!pending.has(id)) this.settle(id)
    if (pending.size === 0) out.talk(say`Nothing waits for you.`)
    if (settings.mayPrompt)
      out.talk(say`d 1 denies, o 1 opens it in the app, a 1 allows where that can be, q ends.`)
  }

  async add(id: string): Promise<void> {
    try {
      this.#show(await this.#person.approvals.get(id, {}, this.#options))
    } catch (error) {
      // Of somebody else's, or taken back since.
      if (!NotFoundError.is(error)) throw error
    }
  }

  settle(id: string): void {
    const card = this.#cards.get(id)
    if (!card) return
    this.#cards.delete(id)
    this.context.out.talk(say`${card.number} is decided.`)
  }

  async deny(number: number, reason: string | undefined): Promise<void> {
    const approval = this.#at(number)
    if (approval) await denyOne(this.context, this.#person, approval, reason)
  }

  open(number: number): void {
    const approval = this.#at(number)
    if (!approval) return
    this.context.out.talk(say`${approval.approval_url}`)
    openBrowser(approval.approval_url, this.context.settings.environment)
  }

  async allow(number: number, lines: Interface, signal: AbortSignal): Promise<void> {
    const approval = this.#at(number)
    if (!approval) return
    const { out } = this.context
    requirePresence(this.context, `guild approvals deny ${approval.id}`)
    for (const line of voices(approval)) out.talk(line)
    if (needsApp(approval)) this.open(number)
    else if ((await lines.question('Type allow to allow this: ', { signal })).trim() === 'allow') {
      await allowOne(this.context, this.#person, approval)
    } else out.talk(say`Nothing was allowed.`)
  }

  #show(approval: Approval): void {
    if (this.#cards.has(approval.id) || approval.status !== 'pending') return
    const number = ++this.#last
    this.#cards.set(approval.id, { number, approval })
    const from = approval.key?.label ?? approval.workflow?.workflowId
    this.context.out.event(approval, () => [
      say`${bold(number)}  ${approval.kind}  ${asksFor(approval)}  — says "${from}"`,
    ])
  }
  #at(number: number): Approval | undefined {
    const found = [...this.#cards.values()].find((card) => card.number === number)
    if (!found) this.context.out.talk(say`No card has the number ${number}.`)
    return found?.approval
  }
  get #options() {
    return { signal: this.context.signal }
  }
}

/** Until q, or the end of stdin. What goes wrong with one card is told, and the others stay. */
async function readLines(cards: Cards, signal: AbortSignal): Promise<void> {
  const lines = createInterface({ input: process.stdin, output: process.stderr })
  // The line editor takes ^C for itself.
  lines.on('SIGINT', () => process.kill(process.pid, 'SIGINT'))
  const closed = new Promise<void>((resolve) => lines.once('close', resolve))
  try {
    for (;;) {
      const line = await Promise.race([lines.question('', { signal }), closed])
      if (line === undefined || line.trim() === 'q') return
      await act(cards, line.trim(), lines, signal).catch((error: unknown) => {
        if (signal.aborted) throw error
        cards.context.out.warn(say`${error instanceof Error ? error.message : String(error)}`)
      })
    }
  } catch (error) {
    if (!signal.aborted) throw error
  } finally {
    lines.close()
  }
}

async function act(cards: Cards, line: string, lines: Interface, signal: AbortSignal): Promise<void> {
  const [verb = '', typed = '', ...rest] = line.split(' ')
  const number = Number(typed)
  if (verb === 'd') await cards.deny(number, rest.join(' ') || undefined)
  else if (verb === 'o') cards.open(number)
  else if (verb === 'a') await cards.allow(number, lines, signal)
  else if (verb !== '') cards.context.out.talk(say`d, o or a with a number, or q.`)
}
