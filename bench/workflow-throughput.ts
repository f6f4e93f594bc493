import { Agent, request } from 'node:http'
import pg from 'pg'
import { startStack } from '../stack/start.ts'
import { figuresOnly, readNumbers } from './options.ts'
import { connectDbos, type Peer } from './peer.ts'
import { type Program, startProgram } from './program.ts'

/**
 * Runs of a workflow of three tools, mapped in between, against the same three steps written by hand as a bare workflow
 * of the engine and of DBOS: one engine, one PostgreSQL, interleaved in one run. `driven` are runs that are recorded
 * already and handed to the engine directly, as the bare ones are; `launched` come through the API, each with its own
 * request; `dbos` are put into the queue of DBOS by clients that wait for what comes out.
 */
const { rounds, runs: runsPerRound, clients } = readNumbers({ rounds: 5, runs: 500, clients: 50 })
const requiredRatio = 0.7
const aimRatio = 0.85
const requiredOfPeer = 1.5

let refused = 0

const mapping = (id: string) => ({
  type: 'mapping',
  id,
  mapConfig: '{"n":{"initData":true,"path":"n"},"line":{"template":"run $' + '{initData.n}"}}',
})
const graph = [1, 2, 3].flatMap((n) => [mapping(`m${n}`), { type: 'tool', id: `s${n}`, toolId: 'echo' }])
const definition = { id: 'line', inputSchema: {}, outputSchema: {}, graph }

const stack = await startStack({
  limits: 'off',
  env: { RUNS_PER_WORKSPACE: '100000', LOG_LEVEL: 'warn' },
})
const programs: Program[] = []
const start = async (file: string, env: Record<string, string | undefined>) => {
  const program = await startProgram(file, env)
  programs.push(program)
  return program
}
const peerUrl = Object.assign(new URL(stack.databaseUrl), { pathname: '/dbos' }).href
let peerClient: Peer | undefined
const database = new pg.Pool({ connectionString: stack.databaseUrl, max: 2 })
const agent = new Agent({ keepAlive: true, maxSockets: clients })
try {
  const identityKey = stack.env['RESTATE_IDENTITY_KEY']
  const bare = await start('bare-workflow.ts', { RESTATE_IDENTITY_KEY: identityKey })
  await post(`${stack.restateAdminUrl}/deployments`, { uri: `http://127.0.0.1:${bare.port}` })
  const peer = await start('peers/dbos-worker.ts', { DBOS_URL: peerUrl })
  const toPeer = await connectDbos(peerUrl)
  peerClient = toPeer
  const token = await prepare()
  const layouts = {
    bare: runBare,
    driven: runDriven,
    launched: () => runLaunched(token),
    dbos: (round: string) => runPeer(peer, toPeer, round),
  }
  const perSecond: Record<string, number[]> = {}
  for (const run of Object.values(layouts)) await run('warm')
  // As PostgreSQL does by itself within a minute; until then it plans for empty tables.
  await database.query('vacuum analyze')
  for (let round = 0; round < rounds; round++) {
    for (const [name, run] of Object.entries(layouts)) {
      const seconds = await run(`r${round}`)
      perSecond[name] = [...(perSecond[name] ?? []), runsPerRound / seconds]
    }
  }
  report(perSecond)
} finally {
  agent.destroy()
  for (const { child } of programs) child.kill('SIGKILL')
  await peerClient?.close()
  await database.end()
  await stack.stop()
}

function post(url: string, body: unknown, headers: Record<string, string> = {}): Promise<string> {
  const text = JSON.stringify(body)
  return new Promise((resolve, reject) => {
    const sent = request(
      url,
      { method: 'POST', agent, headers: { 'content-type': 'application/json', ...headers } },
      (response) => {
        let answer = ''
        response.setEncoding('utf8').on('data', (chunk: string) => {
          answer += chunk
        })
        response.on('end', () => {
          if ((response.statusCode ?? 500) < 300) resolve(answer)
          else reject(new Error(`${url} answered ${response.statusCode}: ${answer}`))
        })
      },
    )
    sent.on('error', reject)
    sent.end(text)
  })
}

async function prepare(): Promise<string> {
  const { auth_token } = JSON.parse(
    await post(`${stack.baseUrl}/api/v1/auth/dev`, { email: 'bench@example.test' }),
  )
  const headers = { 'x-auth-token': auth_token }
  await post(`${stack.baseUrl}/api/v1/workflows/line/install`, { definition }, headers)
  await post(`${stack.baseUrl}/api/v1/workflows/line/launch`, { inputs: { n: 0 } }, headers)
  return auth_token
}

/** As many at a time as there are clients; gives the seconds it took. */
async function timed(work: (n: number) => Promise<unknown>, end = async () => {}): Promise<number> {
  let next = 0
  const begun = performance.now()
  const client = async () => {
    while (next < runsPerRound) await work(next++)
  }
  await Promise.all(Array.from({ length: clients }, client))
  await end()
  return (performance.now() - begun) / 1000
}

function runBare(round: string): Promise<number> {
  return timed((n) => post(`${stack.restateIngressUrl}/BareLine/${round}-${n}/run`, { n }))
}

async function runDriven(round: string): Promise<number> {
  await database.query(
    `insert into workflow_runs (run_id, workspace_id, workflow_id, workflow_slug, definition_id, definition_checksum,
       user_id, source, status, inputs, advancing)
     select $1 || n, workspace_id, workflow_id, workflow_slug, definition_id, definition_checksum, user_id, source,
       'launching', json_build_object('n', n), true
     from (select * from workflow_runs order by id limit 1) first, generate_series(0, $2 - 1) n`,
    [`${round}-`, runsPerRound],
  )
  const seconds = await timed((n) => post(`${stack.restateIngressUrl}/WorkflowRun/${round}-${n}/run`, {}))
  await expectEnded(`${round}-`)
  return seconds
}

async function runLaunched(token: string): Promise<number> {
  await database.query('update workflow_runs set source = $1 where source = $2', ['past', 'api'])
  const url = `${stack.baseUrl}/api/v1/workflows/line/launch`
  // On a machine that is busy with other things, connections to the database run out at times.
  const launch = async (n: number): Promise<unknown> =>
    post(url, { inputs: { n } }, { 'x-auth-token': token }).catch(async (error: Error) => {
      if (!/answered 503/.test(error.message)) throw error
      refused++
      await new Promise((resolve) => setTimeout(resolve, 100))
      return launch(n)
    })
  return timed(launch, async () => {
    for (;;) {
      const { rows } = await database.query(
        `select count(*)::integer as n from workflow_runs where source = 'api' and status = 'success'`,
      )
      if (rows[0].n === runsPerRound) return
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  })
}

async function runPeer(peer: Program, client: Peer, round: string): Promise<number> {
  peer.child.kill('SIGCONT')
  const seconds = await timed((n) => client.run(`${round}-${n}`, { n }))
  // It looks into its queue all the time, and would take from the others' turns.
  peer.child.kill('SIGSTOP')
  return seconds
}

/** A yardstick that does less than it says would mislead everybody. */
async function expectEnded(prefix: string): Promise<void> {
  const { rows } = await database.query(
    `select count(*)::integer as runs, sum(steps)::integer as steps from (
       select count(s.step_id) as steps from workflow_runs r left join workflow_steps s using (run_id)
       where r.run_id like $1 || '%' and status = 'success' group by r.run_id) ended`,
    [prefix],
  )
  const { runs, steps } = rows[0]
  if (runs !== runsPerRound || steps !== runsPerRound * graph.length)
    throw new Error(`${runs} of ${runsPerRound} runs ended, with ${steps} records of steps`)
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN
}

function report(perSecond: Record<string, number[]>): void {
  const ratioOf = (name: string, to: string) =>
    median((perSecond[name] ?? []).map((value, round) => value / (perSecond[to]?.[round] ?? Number.NaN)))
  for (const [name, values] of Object.entries(perSecond)) {
    const all = values.map((value) => value.toFixed(0)).join(' ')
    const ratio = ratioOf(name, 'bare').toFixed(2)
    console.log(
      `${name.padEnd(9)} ${median(values).toFixed(0).padStart(5)} runs/s [${all}], ${ratio} of bare`,
    )
  }
  if (refused > 0) console.log(`${refused} launches were answered 503 and repeated`)
  const ratio = ratioOf('driven', 'bare')
  const ofPeer = ratioOf('driven', 'dbos')
  console.log(`driven is ${ratio.toFixed(2)} of bare; required ${requiredRatio}, aim ${aimRatio}`)
  console.log(`driven is ${ofPeer.toFixed(2)} times the queue of DBOS; required ${requiredOfPeer}`)
  const reached = ratio >= requiredRatio && ofPeer >= requiredOfPeer
  if (!figuresOnly && !reached) process.exitCode = 1
}
