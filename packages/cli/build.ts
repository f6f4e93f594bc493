import { chmod, copyFile, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { type InputOptions, rolldown } from 'rolldown'
import { helpOf, helpWords } from './src/help.ts'
import { manPages } from './src/pages/man.ts'

/**
 * Writes the package that is published: the program with everything it needs inside, and a package.json without
 * dependencies but the keyring, which is optional. In the repository the program runs from its source.
 */
const here = (path: string) => fileURLToPath(new URL(path, import.meta.url))
const target = process.argv[2] ?? here('dist')
const source = JSON.parse(await readFile(here('package.json'), 'utf8'))

await rm(target, { recursive: true, force: true })
await mkdir(target, { recursive: true })
/** Of the contract's document the program needs what is answered, and no words. */
const words = /^(description|summary|tags|examples?|parameters|requestBody|format|pattern|[345]\d\d)$/
const withoutWords = (document: string) =>
  JSON.stringify(JSON.parse(document), (name, value) => (words.test(name) ? undefined : value))
const options: InputOptions = {
  platform: 'node',
  external: [/^node:/, '@napi-rs/keyring'],
  transform: { define: { BUILT_VERSION: JSON.stringify(source.version) } },
  logLevel: 'silent',
  plugins: [
    {
      name: 'contract',
      transform: (code, id) => (id.endsWith('/openapi.json') ? withoutWords(code) : null),
    },
  ],
}
const bundle = await rolldown({ ...options, input: { guild: here('src/main.ts') } })
// Two parts: help and completion load the first alone, and few files load faster than many.
const table =
  /\/cli\/src\/(table|output)\/|\/cli\/src\/(program|command|commands|input|suggest|help|topics|failure|exit-codes|version)\.ts$|fast-string/
await bundle.write({
  dir: target,
  format: 'esm',
  minify: true,
  entryFileNames: '[name].mjs',
  chunkFileNames: '[name].mjs',
  codeSplitting: {
    groups: [
      { name: 'table', test: table, priority: 2 },
      { name: 'work', test: (id) => !/\/(main|broken-answer)\.ts$|\.json$/.test(id), priority: 1 },
    ],
  },
})
await bundle.close()
// For computers without npm: one file, which is no part of the package.
const alone = await rolldown({
  ...options,
  external: [/^node:/],
  input: { 'guild-standalone': here('src/main.ts') },
  plugins: [
    options.plugins,
    {
      // It lies in folders of others, and must load nothing that lies beside it there.
      name: 'without-keyring',
      resolveId: (name) => (name === '@napi-rs/keyring' ? '\0absent' : null),
      load: (id) => (id === '\0absent' ? 'throw new Error("A single file has no keyring")\nexport {}' : null),
    },
  ],
})
await alone.write({
  dir: target,
  format: 'esm',
  minify: true,
  entryFileNames: '[name].mjs',
  codeSplitting: false,
})
await alone.close()
await chmod(`${target}/guild.mjs`, 0o755)
await mkdir(`${target}/help`)
for (const words of helpWords()) {
  await writeFile(`${target}/help/${words.join('_') || 'index'}.txt`, `${helpOf(words)?.text}\n`)
}
await mkdir(`${target}/man`)
for (const [name, text] of manPages()) await writeFile(`${target}/${name}`, text)
await copyFile(here('README.md'), `${target}/README.md`)
await copyFile(here('../../LICENSE'), `${target}/LICENSE`)
const { name, version, type, license, description, engines, optionalDependencies } = source
const published = {
  name,
  version,
  type,
  license,
  description,
  engines,
  bin: { guild: 'guild.mjs' },
  directories: { man: 'man' },
  files: ['*.mjs', '!guild-standalone.mjs', 'help', 'man', 'README.md', 'LICENSE'],
  optionalDependencies,
  publishConfig: { access: 'public', provenance: true },
}
await writeFile(`${target}/package.json`, `${JSON.stringify(published, null, 2)}\n`)
