import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { builtIns } from '#machinery/tools/evaluator/built-ins.mjs'
import { walledCommand } from '#machinery/tools/evaluator-walls.ts'
import { openEvaluators } from '#machinery/tools/evaluators.ts'
import { atSize } from '../../../../test/support/sizes.ts'

const support = join(import.meta.dirname, '../support/evaluator')
const find = createRequire(import.meta.url)
const jsonataFolder = dirname(find.resolve('jsonata/package.json'))

const { evaluate } = openEvaluators(1000)
const compute = (expression: string, data: unknown = null, workspaceId = 'somebody') =>
  evaluate({ workspaceId, expression, data }, new AbortController().signal)

/** Runs a program of the tests behind the evaluators' walls. */
async function behindWalls(script: string, input: unknown) {
  const folders = [
    support,
    join(import.meta.dirname, '../../src/machinery/tools/evaluator'),
    jsonataFolder,
    dirname(dirname(find.resolve('re2js'))),
  ]
  const [program, ...args] = await walledCommand(20, join(support, script), folders)
  return spawnSync(program, args, { input: JSON.stringify(input), encoding: 'utf8' })
}

const salaries = { rows: [{ pay: 100 }, { pay: 250 }] }
const poisons = [
  '$sum ~> |$sum|{"implementation": function($x) { 666 }}|',
  '{} ~> |$sum|{"implementation": $count}|',
  '{} ~> |$sum|{"signature": null}, ["implementation"]|',
  '{} ~> |[$sum, $lookup, $string, $clone, $map]|{"_jsonata_function": false, "implementation": null}|',
  '{} ~> |$lookup|{"implementation": function($o, $k) { "stolen" }}|',
  '{} ~> |$sum.implementation|{"call": 1, "apply": 1, "length": 9}|',
  '($sum := function($x) { 666 }; $lookup := function($a, $b) { 1 }; $sum(1))',
  '$eval("{} ~> |$sum|{\\"implementation\\": $count}|")',
  '$eval("($sum := function($x) { 666 })")',
  '{"a": 1} ~> |$|{"__proto__": {"pay": 666, "polluted": 666}}|',
  '{"a": 1} ~> |$|{"constructor": {"prototype": {"polluted": 666}}}|',
  '$merge([{"__proto__": {"polluted": 666}}])',
  '{"__proto__": {"polluted": 666}}',
  '($f := function() { 1 }; {} ~> |$f.environment|{"lookup": 1}|)',
  '($f := function() { 1 }; {} ~> |$f.*|{"lookup": function() { 666 }, "bind": 1}|)',
  '($f := function() { 1 }; $f.*.bind("sum", 666))',
  '($m := $match("a", /a/); {} ~> |$m.next|{"call": 666}|)',
  '$each($sum, function($v, $k) { $v ~> |$|{"x": 1}| })',
  '$sift($sum, function($v) { true })',
  '{} ~> |$spread($sum)|{"implementation": 666}|',
]
const victims: [string, unknown, unknown][] = [
  ['$sum(rows.pay)', salaries, 350],
  ['$sum($lookup(rows, "pay"))', salaries, 350],
  ['$map(rows, function($r) { $r.pay * 2 })', salaries, [200, 500]],
  ['$string(rows[0] ~> |$|{"pay": 7}|)', salaries, '{"pay":7}'],
  ['polluted', {}, null],
  ['$keys({"a": 1})', {}, 'a'],
]

describe('one expression and the next', () => {
  test('350 stays 350 for others, whatever somebody has run before', async () => {
    await Promise.all(poisons.map((poison) => compute(poison, {}, 'attacker').catch(() => {})))
    const seen = await Promise.all(victims.map(([expression, data]) => compute(expression, data, 'victim')))
    expect(seen).toEqual(victims.map(([, , expected]) => expected))
    expect(await compute('$sum(rows.pay)', salaries, 'attacker')).toBe(350)
  })

  test('they could even share a process: what the language consists of is frozen', async () => {
    const evaluation = (expression: string, data: unknown) => ({
      expression,
      data,
      timeoutMs: 1000,
      maxChars: 1000,
    })
    const check = victims.map(([expression, data]) => evaluation(expression, data))
    const all = poisons.flatMap((poison) => [evaluation(poison, {}), ...check])
    const { stdout, stderr } = await behindWalls('in-turn.mjs', all)
    expect(stderr).toBe('')
    const answers = JSON.parse(stdout) as { text?: string }[]
    const expected = victims.map(([, , value]) => ({ text: JSON.stringify(value) }))
    for (const [index, poison] of poisons.entries()) {
      const at = index * (victims.length + 1) + 1
      expect(answers.slice(at, at + victims.length), `after ${poison}`).toEqual(expected)
    }
  })

  test('every function of the language is among the frozen ones', () => {
    const library = readFileSync(join(jsonataFolder, 'jsonata.js'), 'utf8')
    const bound = [...library.matchAll(/staticFrame\.bind\('(\w+)'/g)].map(([, name]) => name)
    expect(bound.length).toBeGreaterThan(60)
    expect([...builtIns].sort()).toEqual(bound.sort())
  })

  test('data may have fields that prototypes have', async () => {
    const data = JSON.parse('{"constructor": 1, "toString": "x", "push": [2], "__proto__": 3, "message": 4}')
    expect(await compute('$', data)).toEqual(data)
    expect(await compute('$merge([$, {"valueOf": 5}])', data)).toMatchObject({ valueOf: 5, toString: 'x' })
    expect(await compute('$ ~> |$|{"hasOwnProperty": 6}|', data)).toMatchObject({ hasOwnProperty: 6 })
  })
})

describe('patterns', () => {
  const text = 'Ann <ann@example.org>, bob <BOB@example.org>\nCarl\u00a0<carl@example.org>'

  test('give what the language gives', async () => {
    const ordinary = [
      'a',
      '(\\w+)@(\\w+)\\.org',
      '^[A-Z]\\w+',
      '[,;]\\s*',
      '\\s+',
      '\\S+',
      '(x)|(a)',
      '<(.+?)>',
      '.+$',
    ]
    for (const flags of ['', 'i', 'm', 'im']) {
      const expected = ordinary.map((pattern) => {
        const own = new RegExp(pattern, `${flags}g`)
        const matches = [...text.matchAll(own)].map((found) => {
          const [match, ...groups] = found
          return { match, index: found.index, groups: groups.map((group) => group ?? null) }
        })
        return { matches, found: matches.length > 0, replaced: text.replace(own, '[$&]') }
      })
      const each = ordinary.map((pattern) => {
        const written = `/${pattern}/${flags}`
        return `{ "matches": [$match($, ${written})], "found": $contains($, ${written}),
          "replaced": $replace($, ${written}, "[$0]") }`
      })
      expect(await compute(`[${each.join(', ')}]`, text), flags).toEqual(expected)
    }
    const swap = '$replace($, /(\\w+)@(\\w+)/i, "$2 at $1")'
    expect(await compute(swap, text)).toBe(text.replace(/(\w+)@(\w+)/gi, '$2 at $1'))
    expect(await compute('$split("a1b22c", /[0-9]+/)')).toEqual(['a', 'b', 'c'])
    expect(await compute('$toMillis("24/12/2020", "[D01]/[M01]/[Y0001]")')).toBe(Date.UTC(2020, 11, 24))
    expect(await compute('function($a, $b)<s-n?:s> { $a & $b }("x", 1)')).toBe('x1')
  })

  test('are linear, also those that the library makes of signatures and pictures', async () => {
    const slow = [
      ['$contains($pad("", 50000, "a") & "!", /^(a|a)*$/)', false],
      ['$contains($pad("", 30, "a") & "!", /^(a+)+$/)', false],
      [`$exists($toMillis($pad("", 300, "1") & "x", "${'[Y][M][D]'.repeat(8)}"))`, false],
    ] as const
    for (const [expression, expected] of slow) expect(await compute(expression), expression).toBe(expected)
    const manyArguments = `function($a)<${'x+'.repeat(20)}f:x> { 1 }(${Array(60).fill(1).join(',')})`
    await expect(compute(manyArguments)).rejects.toThrow('does not match function signature')
    await expect(compute('$match("aa", /(a)\\1/)')).rejects.toThrow('no back references')
    await expect(compute('$match("aa", /a(?=a)/)')).rejects.toThrow('no look-around')
  })
})

describe('bounds', () => {
  const loop = '($f := function($x) { $f($x) }; $f(1))'

  test("a stranger's expression passes everything that a workspace has waiting", async () => {
    let ended = 0
    const stop = new AbortController()
    const bombs = Array.from({ length: 40 }, () =>
      evaluate({ workspaceId: 'attacker', expression: loop, data: null }, stop.signal).catch(() => ended++),
    )
    await pause(300)
    expect(await compute('1 + 1', null, 'stranger')).toBe(2)
    expect(await compute('1 + 2', null, 'another stranger')).toBe(3)
    // Of forty that take a second each, those that had begun before may have ended, and few more.
    expect(ended).toBeLessThan(atSize(36, 16))
    stop.abort(new Error('enough'))
    await Promise.all(bombs)
  })

  test('data and results have sizes', async () => {
    // Of megabytes: on a machine that others use, a second is no measure for them.
    const patient = openEvaluators(20_000)
    const compute = (expression: string, data: unknown = null) =>
      patient.evaluate({ workspaceId: 'somebody', expression, data }, new AbortController().signal)
    await expect(compute('1', 'x'.repeat(11_000_000))).rejects.toThrow('The data has more than')
    await expect(compute('$pad("", 1100000, "x")')).rejects.toThrow('the result has more than')
    expect(await compute('$length($)', '\u2028'.repeat(900_000))).toBe(900_000)
    const wide = '\u2028"'.repeat(450_000)
    await expect(compute('$', wide)).rejects.toThrow('the result has more than')
    expect(await compute('$substring($, 0, 300000)', wide)).toHaveLength(300_000)
  })

  test('memory has a ceiling that is not only the heap', async () => {
    const { stdout, status, signal } = await behindWalls('fill-memory.mjs', null)
    expect(status === 0 && signal === null).toBe(false)
    const reached = Number(stdout.trim().split('\n').at(-1))
    expect(reached).toBeGreaterThan(100e6)
    expect(reached).toBeLessThan(600e6)
  })

  test('nobody gets out: no network, files, processes, threads, environment, code from text', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'guildhall-evaluators-'))
    writeFileSync(join(folder, 'secret'), 'secret')
    const abstractSocket = `guildhall-${process.pid}`
    const overTcp = createServer().listen(0, '127.0.0.1')
    const servers = [overTcp, createServer().listen(`\0${abstractSocket}`)]
    await Promise.all(servers.map((server) => once(server, 'listening')))
    const input = {
      port: (overTcp.address() as AddressInfo).port,
      secretFile: join(folder, 'secret'),
      targetFile: join(folder, 'written'),
      abstractSocket,
    }
    const onTheHost = spawn(process.execPath, [join(support, 'reach-out.mjs')])
    onTheHost.stdin.end(JSON.stringify(input))
    const { value } = await onTheHost.stdout[Symbol.asyncIterator]().next()
    expect(JSON.parse(String(value)).length).toBe(10)
    const { stdout, stderr } = await behindWalls('reach-out.mjs', input)
    expect(JSON.parse(stdout), stderr).toEqual([])
    for (const server of servers) server.close()
    rmSync(folder, { recursive: true })
  })
})

/** The evaluators that have this process as their ancestor, by what they were started with. */
function evaluatorsBelow(pid: number): number[] {
  const all = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      try {
        const parent = Number(readFileSync(`/proc/${name}/stat`, 'utf8').split(') ')[1]?.split(' ')[1])
        return [{ pid: Number(name), parent, command: readFileSync(`/proc/${name}/cmdline`, 'utf8') }]
      } catch {
        return []
      }
    })
  const below = (ancestor: number): typeof all =>
    all.filter(({ parent }) => parent === ancestor).flatMap((found) => [found, ...below(found.pid)])
  return below(pid)
    .filter(({ command }) => command.includes('program.mjs'))
    .map((found) => found.pid)
}

test('nothing is left when the process that evaluates is killed', async () => {
  const opener: ChildProcess = spawn(process.execPath, [join(support, 'opener.ts')], { stdio: 'pipe' })
  if (!opener.stdout || !opener.pid) throw new Error('it has not started')
  await once(opener.stdout, 'data')
  await pause(500)
  const evaluators = evaluatorsBelow(opener.pid)
  expect(evaluators.length).toBeGreaterThanOrEqual(5)
  opener.kill('SIGKILL')
  const left = () =>
    evaluators.filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('program.mjs')
      } catch {
        return false
      }
    })
  const deadline = performance.now() + 10_000
  while (left().length > 0 && performance.now() < deadline) await pause(50)
  expect(left()).toEqual([])
})
