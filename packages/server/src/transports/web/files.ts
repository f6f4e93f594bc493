import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { extname, join, relative, sep } from 'node:path'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import type { PageFile } from '#transports/http/pages.ts'

const types: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.ico': 'image/x-icon',
  '.jpg': 'image/jpeg',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.map': 'application/json; charset=utf-8',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.txt': 'text/plain; charset=utf-8',
  '.webmanifest': 'application/manifest+json; charset=utf-8',
  '.webp': 'image/webp',
  '.woff2': 'font/woff2',
}
const compressible = new Set(['.css', '.html', '.js', '.json', '.map', '.svg', '.txt', '.webmanifest'])

const encoders = {
  br: (bytes: Buffer) =>
    promisify(brotliCompress)(bytes, { params: { [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length } }),
  gzip: (bytes: Buffer) => promisify(gzip)(bytes, { level: 9 }),
}

/** Every file of a folder by its address, with the headers that its address calls for; none where there is no folder. */
export function readFiles(
  directory: string,
  headersOf: (path: string) => Readonly<Record<string, string>>,
): Map<string, PageFile> {
  const files = new Map<string, PageFile>()
  for (const entry of listFiles(directory)) {
    const path = `/${relative(directory, entry).split(sep).join('/')}`
    const extension = extname(entry)
    const headers = {
      'content-type': types[extension] ?? 'application/octet-stream',
      ...(compressible.has(extension) ? { vary: 'accept-encoding' } : {}),
      ...headersOf(path),
    }
    files.set(path, prepare(readFileSync(entry), headers, compressible.has(extension)))
  }
  return files
}

function listFiles(directory: string): string[] {
  try {
    return readdirSync(directory, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
}

function prepare(plain: Buffer, headers: PageFile['headers'], isText: boolean): PageFile {
  const made = new Map<string, Promise<Buffer>>()
  return {
    tag: createHash('sha256').update(plain).digest('base64url').slice(0, 22),
    headers,
    plain,
    encoded: (encoding) => {
      if (!isText) return undefined
      const known = made.get(encoding) ?? encoders[encoding](plain)
      made.set(encoding, known)
      return known
    },
  }
}
