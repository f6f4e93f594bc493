import { gzipSync } from 'node:zlib'
import { makeTarGz, makeZip } from './archives.ts'

/** Bundles that mean harm; each is refused whole, and nothing of it is kept. */
const link = 0o120777
const many = (count: number) => Array.from({ length: count }, (_, i) => ({ name: `f${i}`, content: 'x' }))
const hostileZips = (): [string, Buffer][] => [
  ['a path that climbs out', makeZip([{ name: '../../etc/passwd', content: 'x' }])],
  ['a path that climbs out later', makeZip([{ name: 'a/b/../../../x', content: 'x' }])],
  ['an absolute path', makeZip([{ name: '/etc/passwd', content: 'x' }])],
  ['a drive letter', makeZip([{ name: 'C:/windows/x', content: 'x' }])],
  ['backslashes', makeZip([{ name: '..\\..\\x', content: 'x' }])],
  ['a NUL in a name', makeZip([{ name: 'a\u0000.txt', content: 'x' }])],
  ['a line break in a name', makeZip([{ name: 'a\nb', content: 'x' }])],
  ['a name that is written backwards', makeZip([{ name: 'a\u202egpj.exe', content: 'x' }])],
  ['an invisible character in a name', makeZip([{ name: 'a\u200b.txt', content: 'x' }])],
  ['a device name', makeZip([{ name: 'con.txt', content: 'x' }])],
  ['a trailing dot', makeZip([{ name: 'a./b', content: 'x' }])],
  ['git internals', makeZip([{ name: '.git/config', content: 'x' }])],
  ['a symbolic link', makeZip([{ name: 'link', content: '/etc/passwd', mode: link }])],
  ['a device node', makeZip([{ name: 'dev', mode: 0o020666 }])],
  ['an encrypted file', makeZip([{ name: 'a', content: 'x', encrypted: true }])],
  ['a bomb: 40 MB of zeros', makeZip([{ name: 'zeros', content: Buffer.alloc(40_000_000) }])],
  [
    'a bomb that lies about its size',
    makeZip([{ name: 'z', content: Buffer.alloc(40_000_000), claimedSize: 10 }]),
  ],
  [
    'many middling bombs',
    makeZip(Array.from({ length: 20 }, (_, i) => ({ name: `z${i}`, content: Buffer.alloc(2_000_000) }))),
  ],
  ['too many files', makeZip(many(501))],
  [
    'two files in one place',
    makeZip([
      { name: 'a', content: '1' },
      { name: 'a', content: '2' },
    ]),
  ],
  [
    'two files that differ in case',
    makeZip([
      { name: 'A', content: '1' },
      { name: 'a', content: '2' },
    ]),
  ],
  [
    'a file where a folder must be',
    makeZip([
      { name: 'a', content: '1' },
      { name: 'a/b', content: '2' },
    ]),
  ],
  ['too deep a path', makeZip([{ name: `${'d/'.repeat(30)}f`, content: 'x' }])],
  ['too long a path', makeZip([{ name: 'n'.repeat(400), content: 'x' }])],
  ['nothing at all', makeZip([])],
  ['a cut-off zip', makeZip([{ name: 'a', content: 'hello' }]).subarray(0, 40)],
  [
    'a zip with its end cut out',
    Buffer.concat([makeZip([{ name: 'a', content: 'hello' }]).subarray(0, 35), Buffer.alloc(30)]),
  ],
  ['neither zip nor tar', Buffer.from('hello')],
]

async function hostileTars(): Promise<[string, Buffer][]> {
  return [
    ['tar: a path that climbs out', await makeTarGz([{ name: '../x', content: 'x' }])],
    ['tar: a symbolic link', await makeTarGz([{ name: 'l', type: 'symlink', linkname: '/etc/passwd' }])],
    ['tar: a hard link', await makeTarGz([{ name: 'l', type: 'link', linkname: '/etc/passwd' }])],
    ['tar: a device', await makeTarGz([{ name: 'd', type: 'character-device' }])],
    ['tar: a pipe', await makeTarGz([{ name: 'p', type: 'fifo' }])],
    ['tar: a bomb', await makeTarGz([{ name: 'z', content: '0'.repeat(40_000_000) }])],
    ['tar: a gzip bomb that is no tar', gzipSync(Buffer.alloc(60_000_000))],
    ['tar: cut off', (await makeTarGz([{ name: 'a', content: 'hello' }])).subarray(0, 30)],
  ]
}

export async function hostileBundles(): Promise<[string, Buffer][]> {
  return [...hostileZips(), ...(await hostileTars())]
}
