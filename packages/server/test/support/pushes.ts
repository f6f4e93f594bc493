import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { PushSender } from '#access/push/push.ts'
import type { Answer, Person } from '../../../../test/support/caller.ts'
import { type Browser, openPushService, type PushService } from '../../../../test/support/push-service.ts'
import { createDatabase, type House, openHouse, secretsOfTests } from './house.ts'
import { redisUrl } from './redis.ts'

export interface PushStage {
  readonly house: House
  readonly service: PushService
  readonly databaseUrl: string
  /** A browser that is told, of somebody who is signed in there. */
  newBrowser(person: Person): Promise<Browser & { readonly subscriptionId: string }>
  subscribe(person: Person, subscription: object, label?: string): Promise<Answer>
  /** What a key of this person asks; gives the id of the request. */
  ask(key: string): Promise<string>
  decide(person: Person, id: string, verb?: 'approve' | 'deny'): Promise<void>
  /** Like a worker of its own in this process, which looks when it is told to. */
  newSender(): PushSender
  /** Looks until nothing is due any more. */
  send(sender?: PushSender): Promise<void>
  /** A worker as a process of its own; gives it when it has begun. */
  startWorker(): Promise<{ kill(): Promise<void> }>
  close(): Promise<void>
}

export async function openPushStage(env: Record<string, string> = {}): Promise<PushStage> {
  const databaseUrl = await createDatabase()
  const service = await openPushService(() => {
    const { push } = house.deps.config
    return push?.applicationServerKeys.get(push.keys.current) ?? ''
  })
  const settings = {
    ...env,
    DATABASE_URL: databaseUrl,
    APP_URL: 'https://app.test',
    PUSH_ALLOW: service.host,
  }
  const house = await openHouse(settings)
  const { push } = house.deps.config
  if (!push) throw new Error('expected keys')
  const newSender = () => new PushSender({ ...house.deps, bus: house.bus, sharedKinds: ['workflow'] }, push)
  const own = newSender()
  const workers = new Set<ReturnType<typeof fork>>()
  const subscribe = (person: Person, subscription: object, label?: string) =>
    house.call('PUT', '/api/v1/push/subscriptions', { token: person.token, body: { ...subscription, label } })
  let asked = 0
  return {
    house,
    service,
    databaseUrl,
    subscribe,
    newSender,
    newBrowser: async (person) => {
      const browser = await service.newBrowser()
      const answer = await subscribe(person, browser.subscription)
      if (answer.status !== 200) throw new Error(`not subscribed: ${answer.status} ${answer.text}`)
      return Object.assign(browser, { subscriptionId: String(answer.body.id) })
    },
    ask: async (key) => {
      const body = { question: `The secret question ${++asked}?` }
      const answer = await house.call('POST', '/api/v1/agents/ask', { key, body })
      if (answer.status !== 202) throw new Error(`not asked: ${answer.status} ${answer.text}`)
      return answer.body.ask_id
    },
    decide: async (person, id, verb = 'deny') => {
      const answer = await house.call('POST', `/api/v1/approvals/${id}/${verb}`, {
        token: person.token,
        body: {},
      })
      if (answer.status !== 200) throw new Error(`not decided: ${answer.status} ${answer.text}`)
    },
    send: async (sender = own) => {
      await sender.look()
      await sender.settled()
    },
    startWorker: async () => {
      const child = fork(fileURLToPath(new URL('./pushing-program.ts', import.meta.url)), {
        env: {
          ...process.env,
          ...secretsOfTests,
          NODE_ENV: 'test',
          PUBLIC_URL: 'http://house.test',
          REDIS_URL: redisUrl(),
          RESTATE_INGRESS_URL: 'http://127.0.0.1:9',
          RESTATE_ADMIN_URL: 'http://127.0.0.1:9',
          RESTATE_IDENTITY_KEY: 'publickeyv1_none',
          STORAGE: 'directory:/tmp',
          DATABASE_POOL_SIZE: '10',
          ...settings,
        },
      })
      workers.add(child)
      await once(child, 'message')
      return {
        kill: async () => {
          workers.delete(child)
          if (child.exitCode !== null || child.signalCode !== null) return
          child.kill('SIGKILL')
          await once(child, 'exit')
        },
      }
    },
    close: async () => {
      for (const child of workers) child.kill('SIGKILL')
      await house.close()
      await service.close()
    },
  }
}
