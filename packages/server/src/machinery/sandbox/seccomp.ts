import { allowedCalls, type CallName } from './allowed-calls.ts'

/**
 * The filter of system calls: which calls exist for a skill and with which arguments. The same policy is assembled to
 * a BPF program (bubblewrap) and printed for an OCI bundle (runc, runsc).
 *
 * A call that is not allowed answers ENOSYS, which programs take as "this kernel is older" and mostly have another way
 * for; an allowed call with a refused argument answers EPERM (in a bundle ENOSYS too). Calls of another architecture (32-bit ones by `int 0x80`
 * on x86-64) kill the process, since their numbers mean something else.
 */
type ArgumentRule = { argument: number; oneOf: readonly number[] } | { argument: number; noneOfBits: number }

const unixSockets = { argument: 0, oneOf: [1] }

/** The kernel reads only the low 32 bits of each of these arguments, so comparing those is exact. */
const argumentRules: { readonly [call in CallName]?: ArgumentRule } = {
  // No network: also not one's own loopback, nor vsock, netlink, packet or kernel-crypto sockets.
  socket: unixSockets,
  socketpair: unixSockets,
  // Processes and threads, but no new namespaces: mount, cgroup, uts, ipc, user, pid, net.
  clone: { argument: 0, noneOfBits: 0x7e020000 },
  // One's own limits, not those of the first process, which has the same user.
  prlimit64: { argument: 0, oneOf: [0] },
  // Terminals without TIOCSTI (typing into them), and what any descriptor takes.
  ioctl: {
    argument: 1,
    oneOf: [
      0x5401, 0x5402, 0x5403, 0x5404, 0x540b, 0x540e, 0x540f, 0x5410, 0x5411, 0x5413, 0x5414, 0x541b, 0x5421,
      0x5422, 0x5429, 0x5441, 0x5450, 0x5451, 0x5452, 0x40045431, 0x80045430, 0x80045432, 0x402c542b,
      0x802c542a,
    ],
  },
}

const machines = {
  x64: { index: 0, audit: 0xc000003e, oci: 'SCMP_ARCH_X86_64' },
  arm64: { index: 1, audit: 0xc00000b7, oci: 'SCMP_ARCH_AARCH64' },
} as const

export type Machine = keyof typeof machines

export function machineOf(arch: string): Machine {
  if (arch === 'x64' || arch === 'arm64') return arch
  throw new Error(`There is no system call filter for ${arch}; run workers on x64 or arm64`)
}

const load = 0x20
const jumpIfEqual = 0x15
const jumpIfAnyBit = 0x45
const answer = 0x06

const allow = 0x7fff0000
const killProcess = 0x80000000
const refuse = (errno: number) => 0x00050000 | errno
const notPermitted = 1
const notImplemented = 38

/** Offsets into the kernel's `struct seccomp_data`; the machines here are little-endian. */
const numberAt = 0
const machineAt = 4
const argumentAt = (index: number) => 16 + 8 * index

type Instruction = readonly [code: number, whenTrue: number, whenFalse: number, value: number]

/** The program as the kernel takes it: 8 bytes for each instruction. */
export function assembleFilter(machine: Machine): Uint8Array {
  const { index, audit } = machines[machine]
  const program: Instruction[] = [
    [load, 0, 0, machineAt],
    [jumpIfEqual, 1, 0, audit],
    [answer, 0, 0, killProcess],
    [load, 0, 0, numberAt],
  ]
  for (const [name, numbers] of Object.entries(allowedCalls)) {
    const number = numbers[index]
    if (number === null) continue
    const body = assembleRule(argumentRules[name as CallName])
    program.push([jumpIfEqual, 0, body.length, number], ...body)
  }
  program.push([answer, 0, 0, refuse(notImplemented)])
  return encode(program)
}

/** What follows when the number matched; it always ends in an answer, so the number need not be loaded again. */
function assembleRule(rule: ArgumentRule | undefined): Instruction[] {
  if (!rule) return [[answer, 0, 0, allow]]
  const loadArgument: Instruction = [load, 0, 0, argumentAt(rule.argument)]
  const answers: Instruction[] = [
    [answer, 0, 0, refuse(notPermitted)],
    [answer, 0, 0, allow],
  ]
  if ('noneOfBits' in rule) return [loadArgument, [jumpIfAnyBit, 0, 1, rule.noneOfBits], ...answers]
  const tests = rule.oneOf.map((value, at): Instruction => [jumpIfEqual, rule.oneOf.length - at, 0, value])
  return [loadArgument, ...tests, ...answers]
}

function encode(program: readonly Instruction[]): Uint8Array {
  const bytes = Buffer.alloc(program.length * 8)
  program.forEach(([code, whenTrue, whenFalse, value], at) => {
    bytes.writeUInt16LE(code, at * 8)
    bytes.writeUInt8(whenTrue, at * 8 + 2)
    bytes.writeUInt8(whenFalse, at * 8 + 3)
    bytes.writeUInt32LE(value, at * 8 + 4)
  })
  return bytes
}

/** The same policy as `linux.seccomp` of an OCI bundle. Rules of one call are alternatives there. */
export function describeFilter(machine: Machine): Record<string, unknown> {
  const { index, oci } = machines[machine]
  const names = Object.entries(allowedCalls).flatMap(([name, numbers]) =>
    numbers[index] === null ? [] : [name],
  )
  const plain = names.filter((name) => !(name in argumentRules))
  const ruled = Object.entries(argumentRules)
  return {
    defaultAction: 'SCMP_ACT_ERRNO',
    defaultErrnoRet: notImplemented,
    architectures: [oci],
    syscalls: [
      { names: plain, action: 'SCMP_ACT_ALLOW' },
      ...ruled.flatMap(([name, rule]) =>
        ociArguments(rule).map((args) => ({ names: [name], action: 'SCMP_ACT_ALLOW', args: [args] })),
      ),
    ],
  }
}

function ociArguments(rule: ArgumentRule): Record<string, unknown>[] {
  if ('oneOf' in rule) return rule.oneOf.map((value) => ({ index: rule.argument, value, op: 'SCMP_CMP_EQ' }))
  return [{ index: rule.argument, value: rule.noneOfBits, valueTwo: 0, op: 'SCMP_CMP_MASKED_EQ' }]
}
