import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { rolldown } from 'rolldown'
import { expect, test } from 'vitest'

const source = (path: string) => fileURLToPath(new URL(path, import.meta.url))

/** What a page or a worker carries that imports these: minified, in bytes as they are sent. */
async function bundleOf(imports: Readonly<Record<string, string>>) {
  const code = Object.entries(imports)
    .map(([path, names]) => `export ${names} from ${JSON.stringify(source(path))}`)
    .join('\n')
  const build = await rolldown({
    input: 'entry',
    platform: 'neutral',
    logLevel: 'silent',
    plugins: [
      {
        name: 'entry',
        resolveId: (id) => (id === 'entry' ? id : null),
        load: (id) => (id === 'entry' ? code : null),
      },
    ],
  })
  const { output } = await build.generate({ format: 'esm', minify: true })
  await build.close()
  const text = output[0].code
  return { text, bytes: gzipSync(text, { level: 9 }).length }
}

test.each([
  ['core', 5000, { 'core.ts': '*' }],
  ['core and executions', 8000, { 'core.ts': '*', 'resources/executions.ts': '*' }],
  ['the whole API and pairing', 15_000, { 'index.ts': '{ Guildhall, pair }' }],
])('%s: at most %i bytes', async (_name, most, imports) => {
  expect((await bundleOf(imports)).bytes).toBeLessThanOrEqual(most)
})

test('who takes one resource gets no other', async () => {
  const { text } = await bundleOf({ 'core.ts': '*', 'resources/executions.ts': '*' })
  expect(text).toContain('/executions')
  expect(text).not.toContain('/workflows')
})
