import type { Handler } from '../command.ts'
import { exit } from '../exit-codes.ts'
import { usage } from '../failure.ts'
import { joined, say } from '../output/safe-text.ts'
import { fieldsFrom } from './fields.ts'

const named = ['name', 'bio', 'timezone'] as const

export const get: Handler = async ({ out, client, signal }) => {
  const profile = await (await client()).profile.get({ signal })
  out.document(profile, () => [
    ...(['name', 'email', 'bio', 'timezone'] as const).map((key) => say`${key.padEnd(10)}${profile[key]}`),
    ...Object.entries(profile.facts).map(([name, fact]) => say`${name.padEnd(10)}${fact}`),
  ])
  return exit.done
}

/** name, bio and timezone are the person's own; anything else is a fact that agents may read. Nothing after = unsets. */
export const set: Handler = async ({ input, out, client, signal }) => {
  const fields = await fieldsFrom(input.rest('K=V'))
  const facts: Record<string, string | null> = {}
  const body: { [key in (typeof named)[number]]?: string | null } & { facts?: typeof facts } = {}
  for (const [name, value] of Object.entries(fields)) {
    if (typeof value !== 'string') throw usage(`${name} is text: write ${name}=text.`)
    const key = named.find((each) => each === name)
    if (name === 'email') throw usage('An email address is changed where you sign in.')
    if (key) body[key] = value === '' ? null : value
    else facts[name] = value === '' ? null : value
  }
  if (Object.keys(facts).length > 0) body.facts = facts
  const profile = await (await client()).profile.update(body, { signal })
  out.document(profile, () => [])
  out.done(say`Changed ${joined(Object.keys(fields), ', ')}.`)
  return exit.done
}
