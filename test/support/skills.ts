import { inflateRawSync } from 'node:zlib'
import type { Caller, Person } from './caller.ts'
import { patiently } from './patience.ts'

/** The main file of a skill that is right in every respect. */
export function skillText(name: string, instruction: string): string {
  return `---\nname: ${name}\ndescription: Does what ${name} says when asked to.\n---\n${instruction}\n`
}

export async function newSkillArtifact(
  caller: Caller,
  person: Person,
  files: Readonly<Record<string, string>>,
  headers: Record<string, string> = {},
): Promise<{ id: string; contentChecksum: string }> {
  const answer = await caller.call('POST', '/api/v1/artifacts', {
    token: person.token,
    headers,
    body: { type: 'skill', files: Object.entries(files).map(([path, content]) => ({ path, content })) },
  })
  if (answer.status !== 201) throw new Error(`expected 201, got ${answer.status}: ${answer.text}`)
  return answer.body
}

/** The files of the live bundle as they are delivered, by their paths below the skill's own folder. */
export async function deliveredFiles(
  baseUrl: string,
  person: Person,
  slug: string,
): Promise<Record<string, string>> {
  const headers = { 'x-auth-token': person.token }
  const response = await patiently(() => fetch(`${baseUrl}/api/v1/skills/${slug}/bundle`, { headers }))
  if (response.status !== 200) throw new Error(`the bundle of ${slug} answered ${response.status}`)
  const entries = readZip(Buffer.from(await response.arrayBuffer()))
  return Object.fromEntries(
    entries.map(([name, content]) => [name.replace(`${slug}/`, ''), content.toString()]),
  )
}

/** By the directory at the end of a zip, which is written last: a cut one has none. */
function readZip(zip: Buffer): [name: string, content: Buffer][] {
  const end = zip.length - 22
  if (zip.readUInt32LE(end) !== 0x06054b50) throw new Error('the zip has no end')
  let at = zip.readUInt32LE(end + 16)
  return Array.from({ length: zip.readUInt16LE(end + 10) }, () => {
    const [method, packedBytes] = [zip.readUInt16LE(at + 10), zip.readUInt32LE(at + 20)]
    const [nameBytes, local] = [zip.readUInt16LE(at + 28), zip.readUInt32LE(at + 42)]
    const name = zip.toString('utf8', at + 46, at + 46 + nameBytes)
    at += 46 + nameBytes + zip.readUInt16LE(at + 30) + zip.readUInt16LE(at + 32)
    const start = local + 30 + zip.readUInt16LE(local + 26) + zip.readUInt16LE(local + 28)
    const packed = zip.subarray(start, start + packedBytes)
    return [name, method === 8 ? inflateRawSync(packed) : packed]
  })
}
