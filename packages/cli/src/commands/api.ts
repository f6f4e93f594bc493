import { readFile } from 'node:fs/promises'
import type { Handler } from '../command.ts'
import { exit } from '../exit-codes.ts'
import { usage } from '../failure.ts'
import { block } from '../output/safe-text.ts'
import { readStdin } from '../prompt.ts'
import { fieldsFrom } from './fields.ts'

const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const
type Method = (typeof methods)[number]
const mostInputBytes = 20_000_000

/** Any route, with the stored key, the same retries and the same errors. */
export const api: Handler = async (context) => {
  const { input, out, signal } = context
  const [method, path] = [input.argument('METHOD').toUpperCase(), input.argument('PATH')]
  if (!isMethod(method)) throw usage(`"${method}" is no method.`, 'guild api GET /api/v1/agents/me')
  if (!path.startsWith('/') || path.startsWith('//')) {
    throw usage(
      'A path begins with one slash; a key is never sent to another address.',
      'guild api GET /api/v1/meta',
    )
  }
  const fields = await fieldsFrom(input.texts('field'))
  const body = await bodyOf(input.text('input'))
  const isRead = method === 'GET' || method === 'DELETE'
  const client = await context.client()
  const ask = (query: Record<string, unknown> | undefined) =>
    client.request(
      method,
      path,
      {
        ...(query && { query }),
        ...(!isRead && { body: body ?? fields }),
        creates: method === 'POST',
      },
      { signal },
    )
  const query = isRead && Object.keys(fields).length > 0 ? fields : undefined
  const answer = input.has('paginate') ? await everyPage(ask, query) : await ask(query)
  out.document(answer, () => [block(JSON.stringify(answer, null, 2))])
  return exit.done
}

/** Follows nextCursor, or offset where the answer has hasMore, and puts the items together. */
async function everyPage(
  ask: (query: Record<string, unknown>) => Promise<unknown>,
  query: Record<string, unknown> = {},
): Promise<unknown> {
  const items: unknown[] = []
  for (let position: Record<string, unknown> = {}; ; ) {
    const answer = await ask({ ...query, ...position })
    if (Array.isArray(answer)) return answer
    const page = answer as {
      items?: unknown[]
      runs?: unknown[]
      nextCursor?: string | null
      hasMore?: boolean
    }
    const found = page.items ?? page.runs
    if (!found) return answer
    items.push(...found)
    if (page.nextCursor) position = { cursor: page.nextCursor }
    else if (page.hasMore && found.length > 0) position = { offset: items.length }
    else return { items, nextCursor: null }
  }
}

async function bodyOf(source: string | undefined): Promise<unknown> {
  if (source === undefined) return undefined
  const text =
    source === '-' ? (await readStdin(mostInputBytes))?.toString('utf8') : await readFile(source, 'utf8')
  try {
    return JSON.parse(text ?? '')
  } catch {
    throw usage(
      `${source === '-' ? 'stdin' : source} is no JSON.`,
      'guild api POST /api/v1/… --input body.json',
    )
  }
}

function isMethod(text: string): text is Method {
  return (methods as readonly string[]).includes(text)
}
