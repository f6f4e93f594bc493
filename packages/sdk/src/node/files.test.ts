import { mkdirSync, mkdtempSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import { attachFile, bundleFolder, saveFiles } from './index.ts'

let folder: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sdk-files-'))
})

const fileOf = (name: string, text = 'x') => ({ name, download: async () => new Response(text) })

test('a folder is bundled without what is ignored, in order', async () => {
  mkdirSync(join(folder, 'lib/.git'), { recursive: true })
  for (const name of ['SKILL.md', 'lib/b.txt', 'lib/a.txt', 'lib/.git/config', 'notes.txt', '.guildignore'])
    writeFileSync(join(folder, name), name === '.guildignore' ? '# mine\nnotes.txt\n' : name)
  expect(await bundleFolder(folder)).toEqual(
    ['SKILL.md', 'lib/a.txt', 'lib/b.txt'].map((path) => ({
      path,
      content: Buffer.from(path).toString('base64'),
      encoding: 'base64',
    })),
  )
  expect(await attachFile(join(folder, 'notes.txt'))).toEqual({ name: 'notes.txt', data: 'bm90ZXMudHh0' })
})

test('a link in a folder is refused, and so is what no request takes', async () => {
  symlinkSync('/etc/passwd', join(folder, 'secrets'))
  await expect(bundleFolder(folder)).rejects.toMatchObject({ name: 'ConfigurationError' })
  writeFileSync(join(folder, 'large'), Buffer.alloc(10_000_001))
  await expect(attachFile(join(folder, 'large'))).rejects.toMatchObject({ name: 'ConfigurationError' })
})

test('files are saved below the folder', async () => {
  const saved = await saveFiles([fileOf('a.txt', 'A'), fileOf('deep/b.txt', 'B')], join(folder, 'new'))
  expect(saved.map((path) => readFileSync(path, 'utf8'))).toEqual(['A', 'B'])
})

test.each(['../x', '/etc/x', 'a/../../x', 'a\\..\\..\\x', 'C:\\x', '', '.', 'a//b', 'a\0b'])(
  'a file named %j is not written, nor any that came with it',
  async (name) => {
    const saving = saveFiles([fileOf('good.txt'), fileOf(name)], join(folder, 'into'))
    await expect(saving).rejects.toMatchObject({ name: 'ConfigurationError' })
    expect(readdirSync(folder)).toEqual([])
  },
)

test('a link in the way leads nothing out', async () => {
  const outside = mkdtempSync(join(tmpdir(), 'sdk-outside-'))
  symlinkSync(outside, join(folder, 'out'))
  symlinkSync(join(outside, 'target'), join(folder, 'file'))
  await expect(saveFiles([fileOf('out/x')], folder)).rejects.toMatchObject({ name: 'ConfigurationError' })
  await expect(saveFiles([fileOf('file')], folder)).rejects.toThrow()
  expect(readdirSync(outside)).toEqual([])
})
