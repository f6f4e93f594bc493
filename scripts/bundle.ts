import { join, relative } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { rolldown } from 'rolldown'

/**
 * Writes the programs that a stack starts into FOLDER, each with everything it loads in a few files. Loading two
 * thousand modules one by one takes a process two seconds of processor time, and CI starts many hundreds of them.
 * Whatever a module finds beside itself (migrations, other programs) it still finds beside its source.
 */
const root = fileURLToPath(new URL('..', import.meta.url))
const programs = [
  'packages/server/src/main.ts',
  'packages/server/src/worker.ts',
  'packages/server/src/migrate.ts',
  'stack/identity-provider.ts',
  'stack/model-endpoint/main.ts',
]
const [folder] = process.argv.slice(2)
if (!folder) throw new Error('usage: node scripts/bundle.ts FOLDER')

const bundle = await rolldown({
  cwd: root,
  platform: 'node',
  input: Object.fromEntries(programs.map((program) => [program, join(root, program)])),
  logLevel: 'warn',
  checks: { eval: false },
  plugins: [{ name: 'keep-places', transform: (code, id) => keepPlace(code, id) }],
})
await bundle.write({
  dir: folder,
  format: 'esm',
  // Names that say what they are, or Node reads each file to find out.
  entryFileNames: '[name].mjs',
  chunkFileNames: '[name]-[hash].mjs',
  minify: { compress: false, mangle: false, codegen: true },
})
await bundle.close()
console.log(`${programs.length} programs in ${relative(root, folder)}`)

function keepPlace(code: string, id: string) {
  if (!code.includes('import.meta.')) return null
  const places = { url: pathToFileURL(id).href, dirname: join(id, '..'), filename: id }
  return code.replace(/\bimport\.meta\.(url|dirname|filename)\b/g, (_, name: keyof typeof places) =>
    JSON.stringify(places[name]),
  )
}
