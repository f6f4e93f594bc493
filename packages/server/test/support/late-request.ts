import { request } from 'node:http'

export interface Late {
  finish(): Promise<{ status: number; text: string }>
}

/** A request whose body is not all there: the first bytes of it are sent once the server has read the head. */
export async function beginLate(
  address: string,
  asked: {
    readonly method: string
    readonly headers: Readonly<Record<string, string>>
    readonly body: string
  },
): Promise<Late> {
  const { method, headers, body } = asked
  const length = { 'content-type': 'application/json', 'content-length': body.length, expect: '100-continue' }
  const sent = request(address, { method, headers: { ...headers, ...length }, agent: false })
  const answered = new Promise<{ status: number; text: string }>((resolve, reject) => {
    sent.on('response', async (response) => {
      let text = ''
      for await (const part of response.setEncoding('utf8')) text += part
      resolve({ status: response.statusCode ?? 0, text })
    })
    sent.on('error', reject)
  })
  await new Promise((resolve) => {
    sent.once('continue', resolve)
    void answered.then(resolve)
    sent.flushHeaders()
  })
  sent.write(body.slice(0, 5))
  const finish = () => {
    sent.end(body.slice(5))
    return answered
  }
  return { finish }
}
