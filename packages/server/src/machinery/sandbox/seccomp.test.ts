import { describe, expect, test } from 'vitest'
import { allowedCalls } from './allowed-calls.ts'
import { assembleFilter, describeFilter, machineOf } from './seccomp.ts'

const machines = [
  { machine: 'x64', index: 0, audit: 0xc000003e },
  { machine: 'arm64', index: 1, audit: 0xc00000b7 },
] as const

/** What the kernel does with a program, as far as these programs go. */
function evaluate(program: Uint8Array, data: Buffer): number {
  const view = Buffer.from(program)
  let accumulator = 0
  for (let at = 0; at < view.length / 8; at++) {
    const code = view.readUInt16LE(at * 8)
    const value = view.readUInt32LE(at * 8 + 4)
    const jump = (isTrue: boolean) => {
      at += view.readUInt8(at * 8 + (isTrue ? 2 : 3))
    }
    if (code === 0x20) accumulator = data.readUInt32LE(value)
    else if (code === 0x15) jump(accumulator === value)
    else if (code === 0x45) jump((accumulator & value) !== 0)
    else if (code === 0x06) return value
    else throw new Error(`no instruction ${code}`)
  }
  throw new Error('fell off the end')
}

const allowed = 0x7fff0000
const permission = 0x00050001
const unknown = 0x00050026
const killed = 0x80000000

describe.each(machines)('$machine', ({ machine, index, audit }) => {
  const program = assembleFilter(machine)
  const ask = (number: number, args: bigint[] = [], arch: number = audit) => {
    const data = Buffer.alloc(64)
    data.writeUInt32LE(number, 0)
    data.writeUInt32LE(arch, 4)
    args.forEach((value, at) => {
      data.writeBigUInt64LE(value, 16 + 8 * at)
    })
    return evaluate(program, data)
  }
  const numberOf = (name: keyof typeof allowedCalls) => allowedCalls[name][index] ?? -1

  test('exactly the listed calls pass, of all numbers there are', () => {
    const ruled = ['socket', 'socketpair', 'ioctl', 'clone']
    const plain = Object.entries(allowedCalls).flatMap(([name, numbers]) =>
      ruled.includes(name) ? [] : [numbers[index]],
    )
    const checked = new Set<number | null>(plain)
    for (let number = 0; number < 700; number++) {
      if (ruled.some((name) => numberOf(name as 'clone') === number)) continue
      expect([number, ask(number)]).toEqual([number, checked.has(number) ? allowed : unknown])
    }
    // The x32 calls of x86-64 and nonsense.
    for (const number of [0x40000000, 0x40000001, 0xffffffff]) expect(ask(number)).toBe(unknown)
  })

  test('another machine’s calls end the process', () => {
    for (const arch of [0x40000003, 0x40000028, 0, audit - 1])
      expect(ask(numberOf('read'), [], arch)).toBe(killed)
  })

  test('only unix sockets', () => {
    for (let family = 0n; family < 50n; family++) {
      const verdict = family === 1n ? allowed : permission
      expect(ask(numberOf('socket'), [family])).toBe(verdict)
      expect(ask(numberOf('socketpair'), [family])).toBe(verdict)
    }
  })

  test('threads and processes, no namespaces', () => {
    const thread = 0x3d0f00n
    const fork = 0x01200011n
    for (const flags of [thread, fork, 17n, 0x4111n]) expect(ask(numberOf('clone'), [flags])).toBe(allowed)
    for (const bit of [0x20000n, 0x2000000n, 0x4000000n, 0x8000000n, 0x10000000n, 0x20000000n, 0x40000000n]) {
      expect(ask(numberOf('clone'), [fork | bit])).toBe(permission)
    }
  })

  test('no typing into terminals', () => {
    const [tcgets, tiocsti, tioclinux] = [0x5401n, 0x5412n, 0x541cn]
    expect(ask(numberOf('ioctl'), [0n, tcgets])).toBe(allowed)
    // The kernel reads 32 bits of the request, so what is above them must not hide one.
    for (const request of [tiocsti, tioclinux, tiocsti | (1n << 32n)]) {
      expect(ask(numberOf('ioctl'), [0n, request])).toBe(permission)
    }
  })

  test('an OCI bundle gets the same policy', () => {
    const { defaultAction, syscalls } = describeFilter(machine) as {
      defaultAction: string
      syscalls: { names: string[]; action: string; args?: { value: number; op: string }[] }[]
    }
    expect(defaultAction).toBe('SCMP_ACT_ERRNO')
    const names = new Set(syscalls.flatMap((rule) => rule.names))
    const here = Object.entries(allowedCalls).flatMap(([name, numbers]) =>
      numbers[index] === null ? [] : [name],
    )
    expect([...names].sort()).toEqual(here.sort())
    const sockets = syscalls.filter((rule) => rule.names.includes('socket'))
    expect(sockets).toMatchObject([{ args: [{ index: 0, value: 1, op: 'SCMP_CMP_EQ' }] }])
  })
})

test('the numbers are those of different calls', () => {
  for (const index of [0, 1] as const) {
    const numbers = Object.values(allowedCalls).flatMap((pair) => pair[index] ?? [])
    expect(new Set(numbers).size).toBe(numbers.length)
  }
})

test('dangerous calls are not on the list', () => {
  const dangerous = `bpf clone3 fsopen init_module io_uring_setup kexec_load keyctl mount move_mount open_by_handle_at
    open_tree perf_event_open personality pivot_root pidfd_getfd process_vm_readv process_vm_writev ptrace setns
    umount2 unshare userfaultfd vmsplice`
  for (const name of dangerous.split(/\s+/)) expect(Object.keys(allowedCalls)).not.toContain(name)
})

test('other machines are refused', () => {
  expect(() => machineOf('riscv64')).toThrow('run workers on x64 or arm64')
})
