import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createSandboxDriver, type Sandbox } from '#machinery/sandbox/sandbox.ts'
import { kinds, makeConfig, removeConfig, smallLimits } from './support.ts'

describe.each(kinds)('%s', (kind) => {
  const config = makeConfig(kind)
  let sandbox: Sandbox

  const run = async (shell: string) => {
    const result = await sandbox.run({ shell, timeoutMs: 20_000, maxOutputBytes: 10_000 })
    expect(result).toMatchObject({ exitCode: 0, stderr: '' })
    return result.stdout
  }
  const text = async (path: string) => (await sandbox.readFile(path, 1000))?.bytes.toString()

  beforeAll(async () => {
    const driver = createSandboxDriver(config)
    const skillFiles = [{ path: 'guide/SKILL.md', bytes: Buffer.from('# guide'), executable: false }]
    sandbox = await driver.create({ id: `files-${kind}`, skillFiles, limits: smallLimits, env: {} })
  })
  afterAll(async () => {
    expect(await sandbox.destroy()).toBe(true)
    removeConfig(config)
  })

  test('reads, writes and lists below /workspace, and reads below /skill', async () => {
    await sandbox.writeFile('a/b/ü.txt', Buffer.from('one'))
    await sandbox.writeFile('/workspace/a/b/ü.txt', Buffer.from('two!'))
    expect(await run('cat a/b/ü.txt')).toBe('two!')
    expect(await sandbox.readFile('a/b/ü.txt', 3)).toEqual({ bytes: Buffer.from('two'), truncated: true })
    expect(await text('/skill/guide/SKILL.md')).toBe('# guide')
    expect(await text('a/none')).toBeUndefined()
    expect(await text('a')).toBeUndefined()
    await run('ln -s b a/link; mkfifo a/pipe; touch a/zero')
    expect(await sandbox.listFiles('a', 10)).toMatchObject([
      { path: '/workspace/a/b', kind: 'directory' },
      { path: '/workspace/a/link', kind: 'other' },
      { path: '/workspace/a/pipe', kind: 'other' },
      { path: '/workspace/a/zero', kind: 'file', sizeBytes: 0 },
    ])
    expect(await sandbox.listFiles('a', 2)).toHaveLength(2)
    expect(await sandbox.listFiles('/workspace/none', 2)).toEqual([])
  })

  test('a large file goes in and out whole', async () => {
    const bytes = Buffer.alloc(5_000_001, 'abcdefg')
    await sandbox.writeFile('large', bytes)
    const found = await sandbox.readFile('large', 6_000_000)
    expect(found?.truncated).toBe(false)
    expect(bytes.equals(found?.bytes ?? Buffer.alloc(0))).toBe(true)
    await run('rm large')
  })

  test('other places are refused', async () => {
    for (const path of [
      '/etc/passwd',
      '../etc/passwd',
      '/workspace/../etc/passwd',
      '/',
      '',
      '/proc/1/environ',
    ]) {
      if (path !== '') await expect(sandbox.readFile(path, 10)).rejects.toMatchObject({ reason: 'refused' })
      await expect(sandbox.writeFile(path, Buffer.from('x'))).rejects.toMatchObject({ reason: 'refused' })
    }
    await expect(sandbox.writeFile('/skill/x', Buffer.from('x'))).rejects.toThrow(
      'only files below /workspace',
    )
    await expect(sandbox.readFile('a\0b', 10)).rejects.toMatchObject({ reason: 'refused' })
  })

  test('no link is followed: to the host, to the sandbox, in the middle of a path, by chain or loop', async () => {
    const canary = join(config.directory, 'canary')
    writeFileSync(canary, 'of the host')
    await run(`mkdir links; cd links; ln -s ${canary} host; ln -s /etc/passwd passwd; ln -s / root; ln -s .. up
      ln -s loop loop; ln -s passwd chain; ln -s /skill/guide skill; echo real > real; ln real hard`)
    const names = ['host', 'passwd', 'root/etc/passwd', 'up/a/b/ü.txt', 'loop', 'chain', 'skill/SKILL.md']
    for (const name of names) {
      expect(await text(`links/${name}`)).toBeUndefined()
      await expect(sandbox.writeFile(`links/${name}`, Buffer.from('x'))).rejects.toMatchObject({
        reason: 'refused',
      })
    }
    expect(await sandbox.listFiles('links/root', 10)).toEqual([])
    expect(await text('links/hard')).toBe('real\n')
    await expect(sandbox.writeFile('a/pipe', Buffer.from('x'))).rejects.toMatchObject({ reason: 'refused' })
    const { files, leftOut } = await sandbox.collect({ maxFiles: 100, maxBytes: 1_000_000 })
    expect(files.map(({ path }) => path).sort()).toEqual(['a/b/ü.txt', 'a/zero', 'links/hard', 'links/real'])
    expect(leftOut).toEqual(
      expect.arrayContaining(['a/pipe', 'links/host', 'links/root', 'links/up', 'links/loop']),
    )
    await run('rm -r links a')
  })

  test('collecting keeps to its caps and copes with hostile trees', async () => {
    await run(`mkdir tree; cd tree; echo 1 > one; chmod +x one; echo 22 > two; printf '%4000s' x > long
      python3 -c "
import os
open(b'bad-\\xff', 'w').close()
os.makedirs('/'.join(['deep'] * 40)); open('/'.join(['deep'] * 40) + '/f', 'w').close()
os.mkdir('shut'); open('shut/f', 'w').close(); os.chmod('shut', 0)
open('unreadable', 'w').close(); os.chmod('unreadable', 0)"`)
    const all = await sandbox.collect({ maxFiles: 100, maxBytes: 4000 })
    expect(all.files.map(({ path, executable }) => ({ path, executable }))).toEqual([
      { path: 'tree/long', executable: false },
    ])
    const small = await sandbox.collect({ maxFiles: 100, maxBytes: 100 })
    expect(small.files).toEqual([
      { path: 'tree/one', bytes: Buffer.from('1\n'), executable: true },
      { path: 'tree/two', bytes: Buffer.from('22\n'), executable: false },
    ])
    expect(small.leftOut).toEqual(expect.arrayContaining(['tree/long', 'tree/unreadable', 'tree/shut']))
    expect(small.leftOut.some((path) => path.includes('bad-'))).toBe(true)
    expect(small.leftOut.some((path) => path.startsWith('tree/deep/deep'))).toBe(true)
    expect((await sandbox.collect({ maxFiles: 1, maxBytes: 100 })).files).toHaveLength(1)
    await run('chmod 700 tree/shut; rm -r tree')
  })

  test('what a skill leaves lying about does not cost it its result, however much and however named', async () => {
    await run(`echo result > report.txt; mkdir many names; python3 -c "
import os
for n in range(3000): open(f'many/{n}', 'w').close()
open('many/told.txt', 'w').write('told')
os.chdir('names')
for _ in range(13):
    os.mkdir('\\1' * 250); os.chdir('\\1' * 250)
for n in range(600): os.symlink('x', '\\1' * 240 + str(n))"`)
    const { files, leftOut, others } = await sandbox.collect({ maxFiles: 100, maxBytes: 1000 })
    expect(files.map(({ path }) => path).slice(0, 2)).toEqual(['report.txt', 'many/told.txt'])
    expect(files).toHaveLength(100)
    expect(leftOut.length + others).toBe(3000 + 600 - 98)
    expect(JSON.stringify(leftOut).length).toBeLessThan(200_000)
    const deep = `names/${Array(13).fill('\x01'.repeat(250)).join('/')}`
    expect((await sandbox.listFiles(deep, 600)).length).toBeGreaterThan(1)
    expect(await sandbox.listFiles('many', 2)).toMatchObject([{ path: '/workspace/many/0' }, {}])
    await run('rm -r report.txt many names')
  })
})
