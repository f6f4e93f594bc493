import { createModels } from '#machinery/models/models.ts'
import type { ThreadCall } from '#platform/engine-client.ts'
import { ThreadRunner } from '#running/threads/runner.ts'
import { toolsetOf } from '#running/threads/tool-run.ts'
import { type ModelEndpoint, openModelEndpoint } from '../../../../stack/model-endpoint/server.ts'
import type { Step } from '../../../../stack/model-endpoint/step.ts'
import type { Person } from '../../../../test/support/caller.ts'
import { createDatabase, type House, openHouse } from './house.ts'
import { type Ingress, openIngress, takes } from './ingress.ts'
import { toolsetParts } from './tool-runs.ts'

/** A message that says what the model answers to it. */
export function scripted(...steps: Step[]): string {
  // A fence within a step would end the script.
  const script = JSON.stringify({ steps }).replaceAll('`', '\\u0060')
  return `Please.\n\`\`\`script\n${script}\n\`\`\``
}

export interface ChatHouse extends House {
  readonly endpoint: ModelEndpoint
  readonly ingress: Ingress
  /** What the engine was asked to have done, in order. */
  calls(): ThreadCall[]
  /** Another worker, which does what it is called for. */
  newRunner(): ThreadRunner
  /** Whether the engine calls the house's own worker for whatever it is told, from now on. */
  serve(does: boolean): void
  send(person: Person, threadId: string, message: string, more?: object): ReturnType<House['call']>
}

/** An API process with a worker for chats beside it; the engine is a stand-in that calls it once. */
export async function openChatHouse(
  env: Record<string, string> = {},
  model: object = {},
): Promise<ChatHouse> {
  const endpoint = await openModelEndpoint({ port: 0 })
  const ingress = await openIngress()
  const house = await openHouse({
    DATABASE_URL: await createDatabase(),
    RESTATE_INGRESS_URL: ingress.url,
    STARTING_CREDITS: '10000',
    MODELS: JSON.stringify([
      {
        id: 'scripted',
        provider: 'anthropic',
        baseUrl: endpoint.url,
        apiKey: 'k',
        default: true,
        inputPricePerMillion: 1000,
        outputPricePerMillion: 1000,
        ...model,
      },
    ]),
    ...env,
  })
  const threads = { ...house.deps, bus: house.bus }
  const newRunner = () =>
    new ThreadRunner({
      ...threads,
      models: createModels(house.deps.config.models),
      toolsetOf: toolsetOf(threads, toolsetParts(house)),
    })
  const runner = newRunner()
  const never = new AbortController().signal
  let serves = true
  ingress.behave((asked, response) => {
    takes(asked, response)
    const call = callIn(asked)
    if (call && serves) void runner.carry(call.threadRowId, call, never).catch(() => {})
  })
  return {
    ...house,
    endpoint,
    ingress,
    newRunner,
    calls: () => ingress.asked.flatMap((asked) => callIn(asked) ?? []),
    serve: (does) => {
      serves = does
    },
    send: (person, threadId, message, more = {}) =>
      house.call('POST', '/api/v1/agents/assistant/send-message', {
        token: person.token,
        body: { resourceId: person.workspaceId, threadId, message, ...more },
      }),
    close: async () => {
      await runner.close(1000)
      await house.close()
      await ingress.close()
      await endpoint.close()
    },
  }
}

function callIn({ path, body }: { path: string; body: string }): ThreadCall | undefined {
  return path.startsWith('/Thread/') ? (JSON.parse(body) as ThreadCall) : undefined
}
