import { useQuery } from '@tanstack/react-query'
import { useSearchParams } from 'wouter'
import { providersQuery } from '../api/queries.ts'
import { Note } from '../parts/controls.tsx'
import { Brand } from '../parts/marks.tsx'
import { words } from '../words.ts'
import { Heading } from './heading.tsx'

/** The way to the provider and back to this page of ours. The server keeps the rest from scripts. */
export function signInPath(provider: string | undefined, back: string, isFresh = false): string {
  const query = new URLSearchParams({ browser: '1', return: back })
  if (provider !== undefined) query.set('provider', provider)
  if (isFresh) query.set('fresh', '1')
  return `/api/v1/auth/start?${query}`
}

/** Only a path of this app: what else a link says is not followed. */
export const ownPath = (path: string | null) =>
  path?.startsWith('/') && !path.startsWith('//') && !path.includes('\\') ? path : '/'

export function SignIn({ back }: { back: string }) {
  const [query] = useSearchParams()
  const { data: providers, error } = useQuery(providersQuery)
  const target = query.has('return') ? ownPath(query.get('return')) : back
  return (
    <main className="gate">
      <Brand size={56} />
      <Heading className="page-title" title={words.signIn.title}>
        {words.name}
      </Heading>
      <p className="quiet">{words.signIn.text}</p>
      {query.has('error') && <Note look="bad">{words.signIn.failed}</Note>}
      {error && <Note look="bad">{words.signIn.unreachable}</Note>}
      {providers?.length === 0 && <Note look="warn">{words.signIn.none}</Note>}
      <div className="gate-ways">
        {providers?.map(({ id, name }) => (
          <a
            key={id}
            className="button"
            data-look="primary"
            data-size="large"
            href={signInPath(id, target)}
            data-testid="sign-in"
          >
            {words.signIn.by(name)}
          </a>
        ))}
      </div>
    </main>
  )
}
