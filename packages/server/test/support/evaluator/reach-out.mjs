import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { Worker } from 'node:worker_threads'

/* Tries what an expression could do that had got hold of the whole of Node, and tells what succeeded. */
const { port, secretFile, targetFile, abstractSocket } = JSON.parse(readFileSync(0, 'utf8'))

/** @param {import('node:net').NetConnectOpts} options */
const reach = (options) =>
  new Promise((resolve, reject) => connect(options).once('connect', resolve).once('error', reject))

/** @type {Record<string, () => unknown>} */
const attempts = {
  loopback: () => reach({ host: '127.0.0.1', port }),
  'abstract unix socket': () => reach({ path: `\0${abstractSocket}` }),
  'read a file': () => readFileSync(secretFile),
  'list the root of homes': () => readdirSync('/root'),
  'write a file': () => writeFileSync(targetFile, 'x'),
  'start a process': () => {
    const { error } = spawnSync('true')
    if (error) throw error
  },
  'start a thread': () => new Worker('', { eval: true }),
  'make code of text': () => new Function('return 1')(),
  environment: () => {
    // The working folder is told by the one who puts up the walls.
    if (!Object.keys(process.env).some((name) => name !== 'PWD')) throw new Error('empty')
  },
  'other processes': () => {
    if (!readdirSync('/proc').some((name) => Number(name) > 2)) throw new Error('none')
  },
}

const succeeded = []
for (const [name, attempt] of Object.entries(attempts)) {
  try {
    await attempt()
    succeeded.push(name)
  } catch {}
}
writeFileSync(1, JSON.stringify(succeeded))
process.exit()
