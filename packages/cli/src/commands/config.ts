import { join } from 'node:path'
import type { Handler } from '../command.ts'
import { exit } from '../exit-codes.ts'
import { Failure, usage } from '../failure.ts'
import { say } from '../output/safe-text.ts'
import { configFolder } from '../places.ts'
import { changeConfig } from '../profile.ts'

/** Settings that may stand in config.json. */
const known = ['maxCost'] as const

export const list: Handler = async ({ settings, out }) => {
  const items = Object.entries(settings.config.settings).map(([name, value]) => ({ name, value }))
  out.list(
    { items },
    [
      { head: 'NAME', cell: ({ name }) => name },
      { head: 'VALUE', cell: ({ value }) => value, wide: true },
    ],
    say`Nothing is set. Known: ${known.join(', ')}`,
  )
  return exit.done
}

export const get: Handler = async ({ input, settings, out }) => {
  const name = input.argument('NAME')
  const value = settings.config.settings[checked(name)]
  if (value === undefined) {
    const next = [`guild config set ${name} VALUE`]
    throw new Failure({ exitCode: exit.notFound, message: `${name} is not set.`, next })
  }
  out.document({ name, value }, value)
  return exit.done
}

export const set: Handler = async ({ input, settings, out }) => {
  const [name, value] = [checked(input.argument('NAME')), input.argument('VALUE')]
  if (!/^\d{1,9}(\.\d{1,6})?$/.test(value)) throw usage(`${name} is an amount of Ds, not "${value}".`)
  changeConfig(settings.environment, (config) => {
    config.settings[name] = value
  })
  out.document({ name, value }, () => [])
  out.done(say`${name} is ${value}.`)
  return exit.done
}

export const unset: Handler = async ({ input, settings, out }) => {
  const name = checked(input.argument('NAME'))
  changeConfig(settings.environment, (config) => {
    delete config.settings[name]
  })
  out.document({ name, value: null }, () => [])
  out.done(say`${name} is not set any more.`)
  return exit.done
}

export const path: Handler = async ({ settings, out }) => {
  const file = join(configFolder(settings.environment), 'config.json')
  out.document({ path: file }, file)
  return exit.done
}

function checked(name: string): (typeof known)[number] {
  const found = known.find((each) => each === name)
  if (!found) throw usage(`There is no setting "${name}". Known: ${known.join(', ')}.`, 'guild config list')
  return found
}
