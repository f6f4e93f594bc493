import { readdirSync, readFileSync } from 'node:fs'

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

export interface Living {
  readonly pid: number
  readonly words: string
}

/** Processes that were started with a folder in their environment or arguments, whoever their parent is by now. */
export function processesOf(folder: string): Living[] {
  return readdirSync('/proc')
    .map(Number)
    .filter((pid) => pid > 0 && pid !== process.pid)
    .flatMap((pid) => {
      const words = read(`/proc/${pid}/cmdline`)
      const isOf = words.includes(folder) || read(`/proc/${pid}/environ`).includes(folder)
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

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return '' // It has ended meanwhile.
  }
}
