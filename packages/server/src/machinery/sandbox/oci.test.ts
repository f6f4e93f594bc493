import { expect, test } from 'vitest'
import { describeBundle } from './oci.ts'

test('a bundle has no rights, no host but its programs, and ceilings for its files', () => {
  const limits = { memoryBytes: 1, pids: 1, cpuSeconds: 1, workspaceBytes: 4096, tmpBytes: 8192 }
  const bundle = describeBundle({
    lodging: {
      id: 'one',
      folder: '/s/one',
      skill: '/s/one/skill',
      etc: '/s/one/etc',
      uid: 700_005,
      memberFiles: [],
      limits,
    },
    sights: [
      { kind: 'folder', path: '/usr' },
      { kind: 'link', path: '/bin', target: 'usr/bin' },
    ],
    etcFiles: ['passwd'],
    firstUid: 700_000,
    command: ['/usr/bin/python3'],
    cgroupPath: '/guildhall/one',
    arch: 'arm64',
  }) as {
    process: { user: object; noNewPrivileges: boolean; capabilities: Record<string, string[]>; env: string[] }
    root: object
    mounts: { destination: string; type: string; source: string; options?: string[] }[]
    linux: { namespaces: { type: string }[]; uidMappings: object[]; cgroupsPath: string; seccomp: object }
  }
  expect(bundle.root).toEqual({ path: 'rootfs', readonly: true })
  expect(bundle.process).toMatchObject({ user: { uid: 1000, gid: 1000 }, noNewPrivileges: true, env: [] })
  expect(Object.values(bundle.process.capabilities).flat()).toEqual([])
  const binds = bundle.mounts.filter((mount) => mount.type === 'bind')
  expect(binds.map(({ source, destination }) => [source, destination])).toEqual([
    ['/usr', '/usr'],
    ['/s/one/etc/passwd', '/etc/passwd'],
    ['/s/one/skill', '/skill'],
  ])
  for (const bind of binds) expect(bind.options).toEqual(['rbind', 'ro', 'nosuid', 'nodev'])
  const sizeOf = (place: string) => bundle.mounts.find((mount) => mount.destination === place)?.options
  expect(sizeOf('/workspace')).toContain('size=4096')
  expect(sizeOf('/tmp')).toContain('size=8192')
  expect(bundle.linux.namespaces.map(({ type }) => type).sort()).toEqual([
    'ipc',
    'mount',
    'network',
    'pid',
    'user',
    'uts',
  ])
  expect(bundle.linux.uidMappings).toEqual([
    { containerID: 0, hostID: 700_000, size: 1 },
    { containerID: 1000, hostID: 700_005, size: 1 },
  ])
  expect(bundle.linux).toMatchObject({
    cgroupsPath: '/guildhall/one',
    seccomp: { architectures: ['SCMP_ARCH_AARCH64'] },
  })
})
