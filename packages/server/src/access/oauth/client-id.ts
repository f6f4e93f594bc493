import { randomText } from '#platform/ids.ts'
import { isDocumentId } from './documents.ts'

const idAlphabet = 'abcdefghijklmnopqrstuvwxyz0123456789'
const idLength = 20

/** An id tells who answers for the app: a person who registered it, or nobody, since it registered itself. */
export function newClientId(kind: 'app' | 'self'): string {
  return `${kind}_${randomText(idAlphabet, idLength)}`
}

/** Whether nobody but the app itself says where it leads: by its document, or when it registered. */
export function speaksForItself(clientId: string): boolean {
  return isDocumentId(clientId) || clientId.startsWith('self_')
}
