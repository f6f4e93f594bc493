// The scripted model endpoint, run as a process of its own.
import { openModelEndpoint } from './server.ts'

const port = Number(process.env['PORT'])
if (!Number.isInteger(port) || port <= 0) throw new Error('PORT is not set: give the port to listen on')
// The instance tells a stack that it reached its own endpoint and not another one's on the same port.
const endpoint = await openModelEndpoint({ port, instance: process.env['INSTANCE'] ?? '' })
console.log(`scripted model endpoint ready at ${endpoint.url}`)
process.once('SIGTERM', () => void endpoint.close())
