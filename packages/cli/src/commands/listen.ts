import { createHmac } from 'node:crypto'
import type { LiveEvent } from '@guildhall/sdk'
import type { Handler } from '../command.ts'
import type { Context } from '../context.ts'
import { type ExitCode, exit } from '../exit-codes.ts'
import { Failure, usage } from '../failure.ts'
import { say } from '../output/safe-text.ts'
import { cleanAddress } from '../settings.ts'

/** Live events of the workspace until a signal ends it. What happens while it reconnects is not repeated. */
export const listen: Handler = async (context) => {
  const { input, out, signal } = context
  const wanted = new Set(input.words('type'))
  const forward = forwarder(context)
  const client = await context.client()
  try {
    for await (const event of client.events.subscribe({ signal })) {
      if (event.type === 'connected') {
        const again = 'reconnected: what happened in between is not repeated; refetch'
        out.talk(say`${event.first ? 'connected' : again}`)
      } else if (wanted.size === 0 || wanted.has(event.type)) {
        out.event(event, () => [say`${String(event.at).slice(11, 19)} ${event.type}  ${subjectOf(event)}`])
        await forward?.(event)
      }
    }
  } catch (error) {
    if (!signal.aborted) throw error
    const ended: unknown = signal.reason
    const exitCode: ExitCode = ended instanceof Failure ? ended.exitCode : exit.interrupted
    if (out.isJson) out.event({ type: 'guild.result', exitCode })
    return exitCode
  }
  return exit.done
}

/** What an event is about. */
function subjectOf(event: LiveEvent): string {
  const named: Readonly<Record<string, unknown>> = { ...event }
  return String(named['executionId'] ?? named['runId'] ?? named['approvalId'] ?? named['threadId'] ?? '')
}

/** POSTs each event to an address of this machine or to https, signed when there is a secret. */
function forwarder({ input, out, signal }: Context): ((event: LiveEvent) => Promise<void>) | undefined {
  const address = input.text('forward-to')
  if (address === undefined) return undefined
  if (!URL.canParse(address))
    throw usage(`"${address}" is no address.`, 'guild listen --forward-to http://127.0.0.1:3000/hook')
  cleanAddress(address)
  const secret = process.env['GUILD_LISTEN_SECRET']
  return async (event) => {
    const body = JSON.stringify(event)
    const seconds = Math.floor(Date.now() / 1000)
    const signature = secret && createHmac('sha256', secret).update(`${seconds}.${body}`).digest('hex')
    try {
      const response = await fetch(address, {
        method: 'POST',
        redirect: 'manual',
        headers: {
          'content-type': 'application/json',
          ...(signature && { 'x-guildhall-signature': `t=${seconds},v1=${signature}` }),
        },
        body,
        signal,
      })
      out.talk(say`  → ${response.status}`)
    } catch (error) {
      if (signal.aborted) throw signal.reason
      out.warn(say`${address} was not reached: ${error instanceof Error ? error.message : String(error)}`)
    }
  }
}
