import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createDatabase, type House, openHouse, secretsOfTests } from '../support/house.ts'
import { type Ingress, openIngress } from '../support/ingress.ts'
import type { Told } from '../support/performing-program.ts'
import { redisUrl } from '../support/redis.ts'
import { askingOf, by, models, newSkill, stageIn } from '../support/writing-stage.ts'

let house: House
let ingress: Ingress
let env: Record<string, string>

beforeAll(async () => {
  ingress = await openIngress()
  const DATABASE_URL = await createDatabase()
  env = {
    DATABASE_URL,
    RESTATE_INGRESS_URL: ingress.url,
    STARTING_CREDITS: '1000',
    MODELS: JSON.stringify(models),
  }
  house = await openHouse({ ...env, DATABASE_URL })
})

afterAll(async () => {
  await house?.close()
  await ingress?.close()
})

/** A process that cannot load the framework, whoever would. */
async function performIn(told: Told): Promise<unknown[]> {
  const refuse = `
    import { registerHooks } from 'node:module'
    registerHooks({
      resolve: (specifier, context, next) => {
        if (specifier === 'fastify') throw new Error(specifier + ' in a worker')
        return next(specifier, context)
      },
    })`
  const child = fork(fileURLToPath(new URL('../support/performing-program.ts', import.meta.url)), {
    execArgv: ['--import', `data:text/javascript,${encodeURIComponent(refuse)}`],
    env: {
      ...process.env,
      ...secretsOfTests,
      NODE_ENV: 'test',
      PUBLIC_URL: 'http://house.test',
      REDIS_URL: redisUrl(),
      RESTATE_ADMIN_URL: 'http://127.0.0.1:9',
      RESTATE_IDENTITY_KEY: 'publickeyv1_none',
      LIMITS: 'off',
      STORAGE: `directory:${house.deps.config.storage.kind === 'directory' ? house.deps.config.storage.path : ''}`,
      ...env,
    },
  })
  await once(child, 'message')
  child.send(told)
  const [answers] = await once(child, 'message')
  await once(child, 'exit')
  return answers as unknown[]
}

test('a worker performs what an agent may do, with the rights of its key and without a server', async () => {
  const stage = stageIn(house, 'performing')
  const person = await stage.newPerson()
  await newSkill(stage, person)
  await by(stage, person)('POST', '/workflows/asking/install', { definition: askingOf(stage) })
  const { secret } = await house.newKey(person, { scopes: ['tool:execute'] })
  const principal = await house.authenticators.key(secret, '127.0.0.1')
  if (!principal) throw new Error('the key is not known')
  const [started, launched, refused, foreign] = await performIn({
    principal,
    calls: [
      { name: 'runSkill', params: { slug: 'writer' }, body: { input: 'go' } },
      { name: 'launchWorkflow', params: { id: 'asking' }, body: { inputs: {} } },
      { name: 'installSkill', params: { slug: 'other' }, body: { artifactId: 'artifact_x' } },
      { name: 'listSessions', params: {}, body: undefined },
    ],
  })
  expect(started).toMatchObject({ status: 200, value: { executionId: expect.stringMatching(/^exec_/) } })
  expect(launched).toMatchObject({ status: 201, value: { runId: expect.stringMatching(/^run_/) } })
  expect(refused).toMatchObject({
    code: 'FORBIDDEN',
    details: { missing_scopes: ['workspace:files:write'] },
  })
  expect(foreign).toEqual({ code: 'FORBIDDEN', details: { via: 'agent' } })
  const { executionId } = (started as { value: { executionId: string } }).value
  const read = await house.call('GET', `/api/v1/executions/${executionId}/status`, { key: secret })
  expect(read.status, read.text).toBe(200)
})
