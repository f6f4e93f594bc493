import { execFileSync } from 'node:child_process'
import { copyFileSync, cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { printJson } from './print-json.ts'

/** Builds `packages/sdk/dist`: what is published, with nothing in it that only this repository needs. */
const folder = new URL('../packages/sdk/', import.meta.url)
const dist = new URL('dist/', folder)
rmSync(dist, { recursive: true, force: true })
const tsc = fileURLToPath(new URL('bin/tsc', import.meta.resolve('typescript/package.json')))
// What is for Node sees its types; the rest must do without, to run anywhere.
for (const project of ['tsconfig.build.json', 'tsconfig.node.json'])
  execFileSync(process.execPath, [tsc, '-p', fileURLToPath(new URL(project, folder))], { stdio: 'inherit' })

const {
  private: _private,
  devDependencies: _development,
  exports,
  ...facts
} = JSON.parse(readFileSync(new URL('package.json', folder), 'utf8'))
const built = Object.entries<string>(exports).map(([name, source]) => {
  const file = source.replace('./src/', './').replace('.ts', '')
  return [name, { types: `${file}.d.ts`, default: `${file}.js` }]
})
const published = {
  ...facts,
  exports: { ...Object.fromEntries(built), './package.json': './package.json' },
  publishConfig: { access: 'public', provenance: true },
}
writeFileSync(new URL('package.json', dist), printJson(published))
cpSync(new URL('examples', folder), new URL('examples', dist), { recursive: true })
copyFileSync(new URL('README.md', folder), new URL('README.md', dist))
copyFileSync(new URL('../LICENSE', import.meta.url), new URL('LICENSE', dist))
