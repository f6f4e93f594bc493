import { fileURLToPath } from 'node:url'
import type { PartOptions } from '../folder.ts'
import { type OwnProgram, startOwnProgram } from '../own-program.ts'

export type ModelServer = OwnProgram

const program = fileURLToPath(new URL('main.ts', import.meta.url))

/** Gives the base address of both protocols. */
export async function startModelEndpoint(options: PartOptions): Promise<ModelServer> {
  const { url, ...models } = await startOwnProgram({ ...options, name: 'models', program })
  return { ...models, url: `${url}/v1` }
}
