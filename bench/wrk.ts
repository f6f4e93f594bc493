import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { median } from './event-parts.ts'

export interface Target {
  readonly name: string
  readonly url: string
  /** The process whose CPU time is counted. */
  readonly pid: number
  readonly headers: Readonly<Record<string, string>>
  /** Sent by POST; without one it is a GET. */
  readonly body?: string
  readonly runs: Measured[]
}

interface Measured {
  readonly perSecond: number
  readonly p50: number
  readonly p99: number
  readonly cpuMicros: number
}

/** Loads one target with wrk for so long; any answer that is not 2xx ends the measurement. */
export async function load(target: Target, seconds: number, connections: number): Promise<Measured> {
  const folder = mkdtempSync(join(tmpdir(), 'guildhall-wrk-'))
  const file = join(folder, 'request.lua')
  writeFileSync(file, scriptOf(target))
  try {
    const cpuBefore = cpuMillis(target.pid)
    const args = [
      '-t1',
      `-c${connections}`,
      `-d${seconds}s`,
      '--latency',
      '--timeout',
      '10s',
      '-s',
      file,
      target.url,
    ]
    const printed = await runWrk(args)
    if (/Non-2xx|Socket errors/.test(printed))
      throw new Error(`${target.name} did not answer well:\n${printed}`)
    const requests = Number(/(\d+) requests in/.exec(printed)?.[1])
    return {
      perSecond: Number(/Requests\/sec:\s+([\d.]+)/.exec(printed)?.[1]),
      p50: milliseconds(/^\s+50%\s+(\S+)/m.exec(printed)?.[1]),
      p99: milliseconds(/^\s+99%\s+(\S+)/m.exec(printed)?.[1]),
      cpuMicros: ((cpuMillis(target.pid) - cpuBefore) * 1000) / requests,
    }
  } finally {
    rmSync(folder, { recursive: true })
  }
}

function scriptOf({ headers, body }: Target): string {
  const lines = Object.entries(headers).map(
    ([name, value]) => `wrk.headers[${quoted(name)}] = ${quoted(value)}`,
  )
  if (body !== undefined) lines.push('wrk.method = "POST"', `wrk.body = ${quoted(body)}`)
  return lines.join('\n')
}

/** A text of Lua: both escape alike what these have. */
const quoted = (text: string) => JSON.stringify(text)

function runWrk(args: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) =>
    execFile('wrk', args, (error, stdout) =>
      error ? reject(new Error(`wrk is needed (apt-get install wrk): ${error.message}`)) : resolve(stdout),
    ),
  )
}

/** User and system time of a process so far; the kernel counts in hundredths of a second. */
function cpuMillis(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) * 10
}

function milliseconds(text = ''): number {
  const [, number, unit] = /([\d.]+)(us|ms|s)/.exec(text) ?? []
  return Number(number) * (unit === 'us' ? 0.001 : unit === 'ms' ? 1 : 1000)
}

/** The middle of each round, and the rates of all of them. */
export function summaryOf({ name, runs }: Target) {
  return {
    name,
    'req/s': Math.round(median(runs.map((each) => each.perSecond))),
    'all rounds': runs.map((each) => Math.round(each.perSecond)).join(' '),
    'p50 ms': median(runs.map((each) => each.p50)),
    'p99 ms': median(runs.map((each) => each.p99)),
    'Node µs/req': Math.round(median(runs.map((each) => each.cpuMicros))),
  }
}
