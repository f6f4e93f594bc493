import { expectTypeOf, test } from 'vitest'
import type { ExecutionStep, knownTypes } from './execution-events.ts'
import type { ConnectAgentAnswer } from './generated/consents.ts'
import type { ListExecutionsQuery, RerunExecutionAnswer } from './generated/executions.ts'
import type { CreateKeyBody } from './generated/keys.ts'
import type {
  Execution,
  ExecutionStatus,
  ExecutionStreamEvent,
  OutputBlock,
  RunStatus,
} from './generated/records.ts'
import type { Guildhall } from './guildhall.ts'
import type { Page, Pager } from './pager.ts'

/** These speak to the compiler, which `npm run check:types` asks; running them shows only that they load. */
test('events narrow by their type once they are known', () => {
  const look = (event: ExecutionStep) => {
    if (!event.known) {
      expectTypeOf(event.type).toEqualTypeOf<string>()
      expectTypeOf(event.payload).toEqualTypeOf<Readonly<Record<string, unknown>>>()
      return
    }
    if (event.type === 'agent.message') expectTypeOf(event.payload.content).not.toBeAny()
    if (event.type === 'execution.result') {
      expectTypeOf(event.payload.tokenUsage.inputTokens).toEqualTypeOf<number>()
      // @ts-expect-error: only messages have a content
      event.payload.content
    }
    // @ts-expect-error: this version knows no such type
    if (event.type === 'agent.dreamt') return
  }
  expectTypeOf(look).returns.toEqualTypeOf<void>()
  expectTypeOf<(typeof knownTypes)[number]>().toEqualTypeOf<ExecutionStreamEvent['type']>()
})

test('answers may say more than is known today, requests may not', () => {
  expectTypeOf<'a status of next year'>().toExtend<ExecutionStatus['status']>()
  expectTypeOf<'resting'>().toExtend<Execution['status']>()
  expectTypeOf<'delayed'>().toExtend<RerunExecutionAnswer['status']>()
  expectTypeOf<'resting'>().not.toExtend<ListExecutionsQuery['status']>()
  expectTypeOf<'resting'>().not.toExtend<RunStatus>()
})

test('an answer with several shapes is told apart by its status', () => {
  const look = (answer: ConnectAgentAnswer) => {
    if (answer.status === 'pending') expectTypeOf(answer.link_code).toEqualTypeOf<string>()
  }
  expectTypeOf(look).returns.toEqualTypeOf<void>()
  expectTypeOf<Extract<OutputBlock, { type: 'file' }>['url']>().toEqualTypeOf<string>()
})

test('what must be given is asked for', () => {
  expectTypeOf<object>().not.toExtend<CreateKeyBody>()
  expectTypeOf<Guildhall['skills']['run']>().parameter(0).toEqualTypeOf<string>()
  expectTypeOf<Guildhall['executions']['list']>().returns.toEqualTypeOf<Pager<Execution>>()
  expectTypeOf<Awaited<Pager<Execution>>>().toEqualTypeOf<Page<Execution>>()
})
