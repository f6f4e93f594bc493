import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'

const installer = join(import.meta.dirname, '../../.ci/install.mjs')
const run = promisify(execFile)

test('a package that the registry failed to give once is there in the end', async () => {
  const { install, folder, asked } = await project({ failing: 1 })

  const { stderr } = await install()

  expect(stderr).toContain('npm left out node_modules/binary-here; trying again')
  expect(await readFile(join(folder, 'node_modules/binary-here/package.json'), 'utf8')).toContain('1.0.0')
  expect(asked()).toBe(2)
})

test('a package that the registry never gives is named, and nothing goes on without it', async () => {
  const { install } = await project({ failing: Number.POSITIVE_INFINITY })

  await expect(install()).rejects.toMatchObject({
    code: 1,
    stderr: expect.stringContaining('npm left out node_modules/binary-here, 2 times'),
  })
})

/** A project with one optional package for this platform and one for another, and a registry that fails so many times. */
async function project({ failing }: { failing: number }) {
  const folder = await mkdtemp(join(tmpdir(), 'install-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const tarball = await packed(folder)

  let asked = 0
  const registry = createServer((request, response) => {
    if (!request.url?.endsWith('.tgz')) {
      const dist = { tarball: `http://${request.headers.host}/binary-here/-/binary-here-1.0.0.tgz` }
      const versions = { '1.0.0': { name: 'binary-here', version: '1.0.0', dist } }
      response.end(JSON.stringify({ name: 'binary-here', 'dist-tags': { latest: '1.0.0' }, versions }))
    } else if (++asked <= failing) response.writeHead(502).end()
    else response.end(tarball)
  }).listen(0, '127.0.0.1')
  onTestFinished(() => void registry.close())
  await new Promise((listening) => registry.once('listening', listening))
  const { port } = registry.address() as AddressInfo

  const optionalDependencies = { 'binary-here': '1.0.0', 'binary-there': '1.0.0' }
  const root = { name: 'project', version: '1.0.0', optionalDependencies }
  const here = { version: '1.0.0', optional: true, os: [process.platform] }
  const there = { version: '1.0.0', optional: true, os: ['aix'] }
  await writeFile(join(folder, 'package.json'), JSON.stringify(root))
  await writeFile(
    join(folder, 'package-lock.json'),
    JSON.stringify({
      name: 'project',
      version: '1.0.0',
      lockfileVersion: 3,
      packages: { '': root, 'node_modules/binary-here': here, 'node_modules/binary-there': there },
    }),
  )
  await writeFile(
    join(folder, '.npmrc'),
    `registry=http://127.0.0.1:${port}/\nfetch-retries=0\ncache=${join(folder, 'cache')}\naudit=false\n`,
  )
  return { folder, asked: () => asked, install: () => run(process.execPath, [installer, folder, '1']) }
}

async function packed(folder: string): Promise<Buffer> {
  const source = join(folder, 'source/package')
  await mkdir(source, { recursive: true })
  await writeFile(join(source, 'package.json'), '{"name":"binary-here","version":"1.0.0"}')
  await run('tar', ['-czf', join(folder, 'binary.tgz'), '-C', join(folder, 'source'), 'package'])
  return readFile(join(folder, 'binary.tgz'))
}
