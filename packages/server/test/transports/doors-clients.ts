import { connect } from 'node:net'

/** Many who come at one moment, from a process of their own. */
const [, , port, count] = process.argv
process.once('message', () => {
  for (let n = 0; n < Number(count); n++) connect(Number(port), '127.0.0.1').on('error', () => {})
})
process.send?.('ready')
