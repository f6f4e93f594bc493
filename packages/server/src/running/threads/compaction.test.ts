import { describe, expect, test } from 'vitest'
import type { ModelMessage } from '#machinery/models/models.ts'
import { type ContextWindow, expectedTokens, planRoom, summaryTokens } from './compaction.ts'
import { foldLog, type LogEvent } from './conversation.ts'

const speaker = { userId: 'a', apiKeyId: null, oauthGrantId: null }
const window: ContextWindow = { contextTokens: 8000, system: 'x'.repeat(800), tools: [] }

class Log {
  events: LogEvent[] = []
  #sequence = 0

  add(type: string, runId: string | null, payload: Record<string, unknown>, output?: string): number {
    const sequence = ++this.#sequence
    this.events.push({ sequence, type, runId, payload, ...(output !== undefined && { output }) })
    return sequence
  }

  user(content: string, runId: string): number {
    return this.add('user.message', runId, { content, author: speaker })
  }

  say(content: string, runId: string): void {
    this.add('agent.message', runId, { content })
  }

  use(id: string, runId: string, output: string): void {
    this.add('agent.tool_use', runId, { toolUseId: id, name: 'read', input: { id } })
    this.add('agent.tool_result', runId, { toolUseId: id, summary: output.slice(0, 100) }, output)
  }

  /** As whoever goes on later loads it. */
  reload(): void {
    const { throughSequence = 0, keeps = [] } = (this.events.findLast(
      ({ type }) => type === 'thread.compacted',
    )?.payload ?? {}) as { throughSequence?: number; keeps?: number[] }
    this.events = this.events.filter(({ sequence }) => sequence > throughSequence || keeps.includes(sequence))
  }
}

const optionsOf = (ownRunId: string, leaveOutOutputsBefore = 0) => ({
  speaker,
  ownRunId,
  leaveOutOutputsBefore,
})
const outputsIn = (messages: readonly ModelMessage[]) =>
  messages.flatMap((message) => (message.role === 'tool' ? message.results.map(({ output }) => output) : []))

describe('room for the next prompt', () => {
  test('there is nothing to do while the prompt is short', () => {
    const log = new Log()
    log.user('Hi', 'r')
    expect(planRoom(log.events, optionsOf('r'), window)).toMatchObject({
      kind: 'fits',
      leaveOutOutputsBefore: 0,
    })
  })

  test('old outputs of tools are left out first, and those of the last three steps stay', () => {
    const log = new Log()
    log.user('Read all of it', 'r')
    for (let step = 1; step <= 6; step++) log.use(`t${step}`, 'r', `${step}`.repeat(4400))
    const plan = planRoom(log.events, optionsOf('r'), window)
    expect(plan.kind).toBe('fits')
    const outputs = outputsIn(foldLog(log.events, optionsOf('r', plan.leaveOutOutputsBefore)))
    expect(outputs.map((output) => output.includes('left out'))).toEqual([
      true,
      true,
      true,
      false,
      false,
      false,
    ])
    // What was left out stays so: a prompt that begins like the last one is cheaper.
    const again = planRoom(log.events, optionsOf('r', plan.leaveOutOutputsBefore), window)
    expect(again).toMatchObject({ kind: 'fits', leaveOutOutputsBefore: plan.leaveOutOutputsBefore })
  })

  test('then everything up to a message is summarized, and a quarter stays as it was said', () => {
    const log = new Log()
    for (let turn = 0; turn < 60; turn++) {
      log.user(`Question ${turn} ${'q'.repeat(200)}`, `r${turn}`)
      if (turn < 59) log.say('a'.repeat(200), `r${turn}`)
    }
    const plan = planRoom(log.events, optionsOf('r59'), window)
    if (plan.kind !== 'summarize') throw new Error(`it is ${plan.kind}`)
    const { throughSequence, keeps, replaced } = plan.cut
    log.add('thread.compacted', 'r59', { throughSequence, keeps, summary: 'They asked much.' })
    log.reload()
    const after = foldLog(log.events, optionsOf('r59'))
    expect(after[0]).toMatchObject({ role: 'user', text: expect.stringContaining('They asked much.') })
    expect(after[1]).toMatchObject({ role: 'user', text: expect.stringContaining('Question') })
    expect(after.at(-1)).toMatchObject({ text: expect.stringContaining('Question 59 ') })
    const kept = expectedTokens({ ...window, system: '' }, after.slice(1))
    expect(kept).toBeLessThanOrEqual(2000)
    expect(kept).toBeGreaterThan(1700)
    expect(replaced.length + after.length).toBe(119 + 1)
  })

  test('a message that waits, or was not heard yet, is not lost with what is summarized', () => {
    const log = new Log()
    log.user('First', 'a')
    const waiting = log.user('I wait', 'z')
    log.say('x'.repeat(20_000), 'a')
    log.add('run.finished', 'a', {})
    log.user('Second', 'b')
    const late = log.user('Said while you thought', 'b')
    log.add('agent.message', 'b', { content: 'y'.repeat(7000), readThrough: late - 1 })
    const plan = planRoom(log.events, optionsOf('b'), window)
    if (plan.kind !== 'summarize') throw new Error(`it is ${plan.kind}`)
    expect(plan.cut.keeps).toContain(waiting)
    const { throughSequence, keeps } = plan.cut
    log.add('thread.compacted', 'b', { throughSequence, keeps, summary: 'Greetings.' })
    log.add('run.finished', 'b', {})
    log.reload()
    const told = foldLog(log.events, optionsOf('z')).map((message) => ('text' in message ? message.text : ''))
    expect(told.filter((text) => text === 'I wait')).toHaveLength(1)
    expect(told.filter((text) => text === 'Said while you thought')).toHaveLength(1)
    expect(told.indexOf('I wait')).toBeGreaterThan(told.indexOf('Said while you thought'))
  })

  test('what cannot be made short is too long', () => {
    const log = new Log()
    log.user('z'.repeat(30_000), 'r')
    expect(planRoom(log.events, optionsOf('r'), window)).toMatchObject({ kind: 'too_long' })
    const steps = new Log()
    steps.user('Go on and on', 'r')
    for (let step = 0; step < 3; step++) steps.use(`t${step}`, 'r', 'o'.repeat(9000))
    expect(planRoom(steps.events, optionsOf('r'), window)).toMatchObject({ kind: 'too_long' })
  })

  test('what the provider counted is believed, and what is new is counted as dear', () => {
    const log = new Log()
    log.user('Hi', 'r')
    const { expected } = planRoom(log.events, optionsOf('r'), window)
    const counted = { tokens: 5900, expected }
    expect(planRoom(log.events, optionsOf('r'), { ...window, counted })).toMatchObject({ kind: 'fits' })
    log.say('Well.', 'r')
    log.user('?', 'r')
    expect(planRoom(log.events, optionsOf('r'), { ...window, counted }).kind).not.toBe('fits')
    // Letters of other scripts are dear from the start.
    const foreign = new Log()
    foreign.user('漢'.repeat(6500), 'r')
    expect(planRoom(foreign.events, optionsOf('r'), window).kind).not.toBe('fits')
  })
})

test('2,000 turns stay below 8,000 tokens with at most one summary in 30 turns', () => {
  const log = new Log()
  // A provider that counts a tenth more than is expected.
  const count = (expected: number) => Math.ceil(expected * 1.1)
  let counted: ContextWindow['counted']
  let leaveOut = 0
  const summarized: number[] = []
  let largest = 0
  for (let turn = 0; turn < 2000; turn++) {
    const run = `r${turn}`
    log.user(`Question ${turn}: ${'word '.repeat(8)}`, run)
    let plan = planRoom(log.events, optionsOf(run, leaveOut), { ...window, ...(counted && { counted }) })
    if (plan.kind === 'summarize') {
      summarized.push(turn)
      const { throughSequence, keeps } = plan.cut
      const summary = 's'.repeat(3 * summaryTokens(window.contextTokens))
      log.add('thread.compacted', run, { throughSequence, keeps, summary })
      log.reload()
      counted = undefined
      plan = planRoom(log.events, optionsOf(run, leaveOut), window)
    }
    expect(plan.kind).toBe('fits')
    leaveOut = plan.leaveOutOutputsBefore
    const prompt = expectedTokens(window, foldLog(log.events, optionsOf(run, leaveOut)))
    counted = { tokens: count(prompt), expected: plan.expected }
    largest = Math.max(largest, count(prompt))
    log.say(`Answer ${turn}: ${'word '.repeat(16)}`, run)
    log.add('run.finished', run, {})
  }
  expect(largest).toBeLessThan(8000)
  expect(summarized.length).toBeGreaterThan(10)
  const apart = summarized.slice(1).map((turn, index) => turn - (summarized[index] ?? 0))
  expect(Math.min(...apart)).toBeGreaterThanOrEqual(30)
})
