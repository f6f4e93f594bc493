import type { UploadedFile } from '#operations/bind.ts'
import { ApiError } from '#operations/errors.ts'
import { decodeBase64 } from './bundle.ts'
import { type BundleFile, unpack } from './unpack.ts'

interface WrittenFile {
  readonly path: string
  readonly content: string
  readonly encoding?: 'utf8' | 'base64'
}

/** The files of a request, in whichever of the three ways they came. */
export async function givenFiles(
  files: readonly WrittenFile[] | undefined,
  upload: readonly UploadedFile[] | undefined,
): Promise<BundleFile[]> {
  return upload ? filesOfForm(upload) : filesOfJson(files ?? [])
}

function filesOfJson(files: readonly WrittenFile[]): BundleFile[] {
  return files.map(({ path, content, encoding }) => {
    const bytes = encoding === 'base64' ? decodeBase64(content) : Buffer.from(content)
    if (!bytes) throw new ApiError('INVALID_INPUT', { message: `${path}: content is not base64` })
    return { path, bytes }
  })
}

/** Either one archive in the field `bundle`, or each file for itself under its path as file name. */
async function filesOfForm(upload: readonly UploadedFile[]): Promise<BundleFile[]> {
  const archives = upload.filter(({ field }) => field === 'bundle')
  const [archive] = archives
  if (!archive) return upload.map(({ name, bytes }) => ({ path: name, bytes }))
  if (upload.length > 1)
    throw new ApiError('INVALID_INPUT', { message: 'Send one bundle, or files, not both' })
  return unpack(archive.bytes)
}
