import type { Handler } from '../command.ts'
import { exit } from '../exit-codes.ts'
import { ours } from '../output/safe-text.ts'
import { version as number } from '../version.ts'

export const version: Handler = async ({ out }) => {
  out.document({ version: number, node: process.versions.node }, () => [ours(`guild ${number}`)])
  return exit.done
}
