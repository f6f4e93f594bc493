import { readFile } from 'node:fs/promises'
import { usage } from '../failure.ts'

/** `k=text`, `k:=JSON`, `k=@file` and `k:=@file`, as values by name. */
export async function fieldsFrom(texts: readonly string[]): Promise<Record<string, unknown>> {
  const fields: Record<string, unknown> = {}
  for (const text of texts) {
    const at = text.indexOf('=')
    if (at < 1) throw usage(`"${text}" is no field: write name=text or name:=JSON.`)
    const isJson = text[at - 1] === ':'
    const name = text.slice(0, isJson ? at - 1 : at)
    const written = text.slice(at + 1)
    const value = written.startsWith('@') ? await fileText(written.slice(1)) : written
    Object.defineProperty(fields, name, {
      value: isJson ? parsed(name, value) : value,
      enumerable: true,
      configurable: true,
      writable: true,
    })
  }
  return fields
}

async function fileText(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    throw usage(`${path} cannot be read: ${error instanceof Error ? error.message : String(error)}`)
  }
}

function parsed(name: string, text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw usage(`${name} is no JSON. Text is written ${name}=text, without the colon.`)
  }
}
