import type { IncomingHttpHeaders } from 'node:http'
import type { Readable } from 'node:stream'
import { Busboy, type BusboyHeaders, type BusboyInstance } from '@fastify/busboy'
import type { UploadedFile } from '#operations/bind.ts'
import { ApiError } from '#operations/errors.ts'
import { noNul } from '#operations/json-values.ts'

const fieldBytes = 20_000
const fieldCount = 20

/**
 * Reads a form with files. Everything is counted while it arrives, so that a body can never take more memory than
 * the limits say, whatever its headers promise.
 */
export function readMultipart(
  body: Readable,
  headers: IncomingHttpHeaders,
  limits: { bytes: number; files: number },
): Promise<{ fields: Record<string, string>; files: UploadedFile[] }> {
  return new Promise((resolve, reject) => {
    const fields: Record<string, string> = Object.create(null)
    const files: UploadedFile[] = []
    let total = 0
    const refuse = (message: string, details?: Record<string, unknown>) => {
      body.unpipe(form)
      body.resume()
      reject(new ApiError('INVALID_INPUT', { message, ...(details ? { details } : {}) }))
    }
    const form = openForm(headers, limits.files)
    form.on('field', (name, value, _nameCut, valueCut) => {
      if (valueCut) return refuse(`${name}: too long`)
      if (value.includes('\u0000')) return refuse(noNul)
      fields[name] = value
    })
    // A part may be a file by its type alone, and then has no name: it is judged like an empty one.
    form.on('file', (field, stream, name: string | undefined) => {
      const chunks: Buffer[] = []
      stream.on('error', () => refuse('The form is malformed'))
      stream.on('data', (chunk: Buffer) => {
        total += chunk.length
        if (total > limits.bytes) return refuse('The files are too large together', { limit: limits.bytes })
        chunks.push(chunk)
      })
      stream.on('end', () => files.push({ field, name: name ?? '', bytes: Buffer.concat(chunks) }))
    })
    form.on('filesLimit', () => refuse('Too many files', { limit: limits.files }))
    form.on('fieldsLimit', () => refuse('Too many fields', { limit: fieldCount }))
    form.on('error', () => refuse('The form is malformed'))
    form.on('finish', () => resolve({ fields, files }))
    body.on('error', reject)
    body.pipe(form)
  })
}

function openForm(headers: IncomingHttpHeaders, files: number): BusboyInstance {
  try {
    // Names are kept whole: a file's name is its path in the bundle, judged later like any other path.
    return new Busboy({
      headers: headers as BusboyHeaders,
      preservePath: true,
      limits: { files, fields: fieldCount, fieldSize: fieldBytes, fieldNameSize: 100, headerPairs: 20 },
    })
  } catch {
    throw new ApiError('INVALID_INPUT', { message: 'The form is malformed' })
  }
}
