import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { Guildhall } from './guildhall.ts'
import { version } from './version.ts'

const folder = new URL('../', import.meta.url)
const facts = JSON.parse(readFileSync(new URL('package.json', folder), 'utf8'))
const sources = readdirSync(new URL('src/', folder), { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'))
  .map((name) => ({ name, text: readFileSync(new URL(`src/${name}`, folder), 'utf8') }))

const declares = /^export (?:abstract )?(?:class|async function|function|const|interface|type) \w/

test('the version it tells is that of the package, which needs no other', () => {
  expect(version).toBe(facts.version)
  expect([facts.dependencies, facts.peerDependencies, facts.optionalDependencies]).toEqual([
    undefined,
    undefined,
    undefined,
  ])
})

test('every resource is on the client and has an entry point', () => {
  const guild = new Guildhall({ baseUrl: 'https://guild.test', apiKey: 'k' })
  const resources = sources
    .map(({ name }) => /^generated\/([a-z-]+)\.ts$/.exec(name)?.[1])
    .filter((name) => name !== undefined && !['records', 'table', 'text'].includes(name))
  expect(resources.length).toBeGreaterThan(30)
  for (const resource of resources as string[]) {
    const property = resource.replace(/-(.)/g, (_, letter: string) => letter.toUpperCase())
    expect(guild, property).toHaveProperty(property)
    expect(facts.exports, resource).toHaveProperty([`./${resource}`])
  }
})

test('whatever is exported says what it is', () => {
  const silent = sources.flatMap(({ name, text }) => {
    const lines = text.split('\n')
    return lines
      .filter((line, at) => declares.test(line) && !lines[at - 1]?.endsWith('*/'))
      .map((line) => `${name}: ${line}`)
  })
  expect(silent).toEqual([])
})

test('the README has sixty lines', () => {
  const readme = readFileSync(new URL('README.md', folder), 'utf8')
  expect(readme.split('\n').length).toBeLessThanOrEqual(61)
})
