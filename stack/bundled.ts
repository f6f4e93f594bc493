import { existsSync } from 'node:fs'
import { join, relative } from 'node:path'
import { repositoryRoot } from './spawn.ts'

/** Where `scripts/bundle.ts` has put the programs whole; CI sets it, as each then loads in less than half the time. */
const folder = process.env['GUILDHALL_BUNDLES']

/** The bundle of a program of this repository where there is one; it does the same as the program itself. */
export function bundled(program: string): string {
  const bundle = join(folder ?? '', `${relative(repositoryRoot, program)}.mjs`)
  return folder !== undefined && existsSync(bundle) ? bundle : program
}
