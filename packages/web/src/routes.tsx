import type { CurrentSession } from '@guildhall/sdk'
import { useQuery } from '@tanstack/react-query'
import { lazy, type ReactNode, Suspense, useEffect } from 'react'
import { Redirect, Route, Switch, useLocation, useSearch } from 'wouter'
import { pendingQuery, sessionQuery } from './api/queries.ts'
import { Button, Loading, Note } from './parts/controls.tsx'
import { pathOf } from './screens/describe.ts'
import { Heading } from './screens/heading.tsx'
import { InboxList } from './screens/inbox.tsx'
import { NotFound } from './screens/not-found.tsx'
import { Shell } from './screens/shell.tsx'
import { SignIn } from './screens/sign-in.tsx'
import { isWide } from './screens/wide.ts'
import { words } from './words.ts'

const Decision = lazy(() => import('./screens/decision.tsx'))
const Pair = lazy(() => import('./screens/pair.tsx'))
const Agents = lazy(() => import('./screens/agents.tsx'))
const Settings = lazy(() => import('./screens/settings.tsx'))
const Sessions = lazy(async () => ({ default: (await import('./screens/settings.tsx')).Sessions }))
const Notices = lazy(() => import('./screens/notices.tsx'))
const Apps = lazy(() => import('./screens/apps.tsx'))
const Members = lazy(() => import('./screens/members.tsx'))
const Invitations = lazy(() => import('./screens/invitations.tsx'))
const Passkeys = lazy(() => import('./screens/passkeys.tsx'))

export function App() {
  const { data: session, error, refetch } = useQuery(sessionQuery)
  const [path] = useLocation()
  const search = useSearch()
  if (session) return <SignedIn session={session} />
  if (session === null)
    return <SignIn back={path === '/sign-in' ? '/' : `${path}${search && `?${search}`}`} />
  if (!error) return null
  // A server that cannot say who this is has not said that nobody is signed in.
  return (
    <main className="gate">
      <Note look="bad">{words.signIn.unreachable}</Note>
      <Button onClick={() => void refetch()}>{words.retry}</Button>
    </main>
  )
}

const withDock = ['/approvals/', '/requests/', '/consents/', '/pair']

function SignedIn({ session }: { session: CurrentSession }) {
  const [path] = useLocation()
  return (
    <Shell session={session} hasDock={withDock.some((start) => path.startsWith(start))}>
      <Suspense fallback={<Loading />}>
        <Switch>
          <Route path="/">
            <Beside />
          </Route>
          {['/approvals/:id', '/requests/:id', '/consents/:id'].map((pattern) => (
            <Route path={pattern} key={pattern}>
              {({ id = '' }: { id?: string }) => (
                <Beside selected={id}>
                  <Decision key={id} id={id} />
                </Beside>
              )}
            </Route>
          ))}
          <Route path="/pair/:code?">
            {({ code }) => (
              <Beside>
                <Pair key={code ?? ''} code={code} />
              </Beside>
            )}
          </Route>
          <Route path="/agents/:id?">
            {({ id }) => <Agents keyId={id === undefined ? undefined : Number(id)} />}
          </Route>
          <Route path="/settings">
            <Settings session={session} />
          </Route>
          <Route path="/settings/passkeys">
            <Passkeys />
          </Route>
          <Route path="/settings/notices">
            <Notices />
          </Route>
          <Route path="/settings/apps">
            <Apps />
          </Route>
          <Route path="/settings/members">
            <Members session={session} />
          </Route>
          <Route path="/settings/invitations">
            <Invitations />
          </Route>
          <Route path="/settings/sessions">
            <Sessions />
          </Route>
          <Route path="/sign-in">
            <Redirect to="/" replace />
          </Route>
          <Route>
            <NotFound />
          </Route>
        </Switch>
      </Suspense>
    </Shell>
  )
}

/** The inbox, with what was opened from it beside it, or on a phone in its place. */
function Beside({ selected, children }: { selected?: string; children?: ReactNode }) {
  return (
    <div className="split">
      <section className={children ? 'pane-list only-wide' : 'pane-list'}>
        <InboxList
          selected={selected}
          title={
            children ? (
              <div className="page-title">{words.inbox}</div>
            ) : (
              <Heading className="page-title" title={words.inbox}>
                {words.inbox}
              </Heading>
            )
          }
        />
      </section>
      <section className={children ? 'pane-detail' : 'pane-detail only-wide'}>
        {children ? <Suspense fallback={<Loading />}>{children}</Suspense> : <FirstOne />}
      </section>
    </div>
  )
}

/** On a desktop the soonest opens by itself; its address is its own, so no other takes its place. */
function FirstOne() {
  const { data: pending } = useQuery(pendingQuery)
  const [, navigate] = useLocation()
  const first = pending?.find(({ kind }) => kind !== 'activation')
  useEffect(() => {
    if (first && isWide()) navigate(pathOf(first), { replace: true })
  }, [first, navigate])
  return (
    <div className="done">
      <p className="quiet">{pending?.length === 0 ? words.empty.title : words.choose}</p>
    </div>
  )
}
