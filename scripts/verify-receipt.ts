import { createHash, createPublicKey, type JsonWebKey, verify } from 'node:crypto'
import { readFileSync } from 'node:fs'

/*
 * Checks a receipt without asking anybody: node scripts/verify-receipt.ts <receipt.json> <keys.json> [<previous.json>]
 * receipt.json is what GET /api/v1/receipts/:id answered, keys.json a copy of /.well-known/guildhall-receipt-keys.
 * With the receipt before it also that this one follows it. Ends with 0 when all holds, with 1 and a reason otherwise.
 */

/** The text that was signed (RFC 8785): fields in the order of their names, no blanks. */
function canonical(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`
  const fields = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1))
  return `{${fields.map(([name, field]) => `${JSON.stringify(name)}:${canonical(field)}`).join()}}`
}

type Signed = { receipt: Record<string, unknown>; signature: string; keyId: string }

export function check({ receipt, signature, keyId }: Signed, keys: JsonWebKey[], previous?: Signed): string {
  const key = keys.find(({ kid }) => kid === keyId)
  if (!key) throw new Error(`the key ${keyId} is not among the published ones`)
  const bytes = Buffer.from(signature, 'base64url')
  // Several spellings mean the same bytes; only one of them is what was answered.
  const isWhole = bytes.toString('base64url') === signature
  const publicKey = createPublicKey({ key, format: 'jwk' })
  if (!isWhole || !verify(null, Buffer.from(canonical(receipt)), publicKey, bytes))
    throw new Error('the signature does not fit the receipt')
  const before = receipt['previous'] as { id: string; sha256: string } | null
  const hash = previous && createHash('sha256').update(canonical(previous.receipt)).digest('hex')
  if (hash !== undefined && before?.sha256 !== hash) throw new Error('it does not follow that receipt')
  return `${receipt['id']}: signed by ${receipt['issuer']} with ${keyId}\n${JSON.stringify(receipt['authority'])}`
}

if (import.meta.main) {
  try {
    const files = process.argv.slice(2).map((path) => JSON.parse(readFileSync(path, 'utf8')))
    if (files.length < 2) throw new Error('give a receipt and the published keys, each as a file')
    process.stdout.write(`${check(files[0], files[1].keys, files[2])}\n`)
  } catch (error) {
    process.stderr.write(`not verified: ${(error as Error).message}\n`)
    process.exitCode = 1
  }
}
