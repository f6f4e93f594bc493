import { crc32, deflateRawSync, gzipSync } from 'node:zlib'
import { pack } from 'tar-stream'

export interface ZipEntry {
  name: string
  content?: string | Buffer
  /** Unix mode with its file type, as an archiver on Unix writes it. */
  mode?: number
  /** What the headers claim instead of the truth. */
  claimedSize?: number
  encrypted?: boolean
}

/** A zip written byte by byte, so that it can lie as a hostile one does. */
export function makeZip(entries: readonly ZipEntry[]): Buffer {
  const parts: Buffer[] = []
  const directory: Buffer[] = []
  let offset = 0
  for (const { name, content = '', mode = 0o100644, claimedSize, encrypted } of entries) {
    const raw = Buffer.from(content)
    const packed = deflateRawSync(raw)
    const fileName = Buffer.from(name)
    const common = Buffer.alloc(26)
    common.writeUInt16LE(20, 0)
    common.writeUInt16LE(0x0800 | (encrypted ? 1 : 0), 2)
    common.writeUInt16LE(8, 4)
    common.writeUInt32LE(crc32(raw), 10)
    common.writeUInt32LE(packed.length, 14)
    common.writeUInt32LE(claimedSize ?? raw.length, 18)
    common.writeUInt16LE(fileName.length, 22)
    const local = Buffer.concat([Buffer.from('PK\u0003\u0004', 'latin1'), common, fileName, packed])
    const central = Buffer.alloc(46)
    central.write('PK\u0001\u0002', 0, 'latin1')
    central.writeUInt16LE((3 << 8) | 20, 4)
    common.copy(central, 6)
    central.writeUInt32LE((mode << 16) >>> 0, 38)
    central.writeUInt32LE(offset, 42)
    directory.push(Buffer.concat([central, fileName]))
    parts.push(local)
    offset += local.length
  }
  const list = Buffer.concat(directory)
  const end = Buffer.alloc(22)
  end.write('PK\u0005\u0006', 0, 'latin1')
  end.writeUInt16LE(entries.length, 8)
  end.writeUInt16LE(entries.length, 10)
  end.writeUInt32LE(list.length, 12)
  end.writeUInt32LE(offset, 16)
  return Buffer.concat([...parts, list, end])
}

export interface TarEntry {
  name: string
  content?: string
  type?: 'file' | 'symlink' | 'link' | 'character-device' | 'fifo' | 'directory'
  linkname?: string
}

export async function makeTarGz(entries: readonly TarEntry[]): Promise<Buffer> {
  const tar = pack()
  for (const { name, content = '', type = 'file', linkname } of entries) {
    tar.entry({ name, type, ...(linkname ? { linkname } : {}) }, type === 'file' ? content : '')
  }
  tar.finalize()
  const chunks: Buffer[] = []
  for await (const chunk of tar) chunks.push(chunk as Buffer)
  return gzipSync(Buffer.concat(chunks))
}
