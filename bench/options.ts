import { parseArgs } from 'node:util'

/** On a machine that is busy with other things figures say little: they are shown then, and not judged. */
export const figuresOnly = process.argv.includes('--figures-only')

/** How much is measured, by the numbers on the command line or these. */
export function readNumbers<Name extends string>(
  defaults: Readonly<Record<Name, number>>,
): Record<Name, number> {
  const names = Object.keys(defaults) as Name[]
  const options = Object.fromEntries(names.map((name) => [name, { type: 'string' as const }]))
  const { values } = parseArgs({ options: { ...options, 'figures-only': { type: 'boolean' } } })
  const given = values as Partial<Record<Name, string>>
  return Object.fromEntries(names.map((name) => [name, Number(given[name] ?? defaults[name])])) as Record<
    Name,
    number
  >
}
