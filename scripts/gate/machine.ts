import { readdirSync, readFileSync, readlinkSync } from 'node:fs'

/** Hundredths of a second of all cores since the machine started. */
export interface Ticks {
  readonly used: number
  readonly taken: number
  readonly all: number
}

export function readTicks(): Ticks {
  const [first = ''] = readFileSync('/proc/stat', 'utf8').split('\n')
  const [user = 0, nice = 0, system = 0, idle = 0, waiting = 0, irq = 0, softirq = 0, taken = 0] = first
    .split(/\s+/)
    .slice(1)
    .map(Number)
  const used = user + nice + system + irq + softirq
  return { used, taken, all: used + idle + waiting + taken }
}

/** How much of the machine was used since then, and how much of it others had. */
export function machineSince(before: Ticks): string {
  const now = readTicks()
  const share = (100 * (now.taken - before.taken)) / Math.max(1, now.all - before.all)
  return `${Math.round((now.used - before.used) / 100)} s of CPU, ${share.toFixed(0)} % taken by others`
}

/** Seconds of CPU of all processes that have ended below this one, those below them included. */
export function childrenCpuSeconds(): number {
  // After the name, which may hold anything: state is field 3, what children took 16 and 17.
  const fields = readFileSync('/proc/self/stat', 'utf8')
    .replace(/^.*\) /s, '')
    .split(' ')
  return (Number(fields[13]) + Number(fields[14])) / 100
}

export interface Living {
  readonly pid: number
  readonly words: string
}

/**
 * Processes that have to do with a folder, whoever their parent is by now: it is in their environment or arguments, or
 * they are in it, or have a file of it open. Some servers write over the first two.
 */
export function processesOf(folder: string): Living[] {
  return readdirSync('/proc')
    .map(Number)
    .filter((pid) => pid > 0 && pid !== process.pid)
    .flatMap((pid) => {
      const words = read(`/proc/${pid}/cmdline`)
      const isOf =
        words.includes(folder) ||
        read(`/proc/${pid}/environ`).includes(folder) ||
        linksOf(pid).some((target) => target.startsWith(`${folder}/`) || target === folder)
      return isOf && !isZombie(pid) ? [{ pid, words: words.replaceAll('\0', ' ').trim().slice(0, 160) }] : []
    })
}

export function endProcess(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It has ended meanwhile.
  }
}

const isZombie = (pid: number) => /\) [ZX] /.test(read(`/proc/${pid}/stat`))

function linksOf(pid: number): string[] {
  try {
    const open = readdirSync(`/proc/${pid}/fd`).map((name) => `/proc/${pid}/fd/${name}`)
    return [`/proc/${pid}/cwd`, ...open].map((link) => readlinkSync(link))
  } catch {
    return [] // It has ended meanwhile, or is another's.
  }
}

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return '' // It has ended meanwhile.
  }
}
