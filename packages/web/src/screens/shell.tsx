import type { CurrentSession } from '@guildhall/sdk'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Bot, ChevronsUpDown, CloudOff, Inbox, type LucideIcon, Menu, Radio, Settings } from 'lucide-react'
import { type ReactNode, useEffect } from 'react'
import { Link, useLocation } from 'wouter'
import { readAgain } from '../api/again.ts'
import { api } from '../api/client.ts'
import { type LiveState, listen, useLiveState } from '../api/live.ts'
import { keepTold, onNoticeOpened } from '../api/push.ts'
import { billingQuery, passkeyRecoveryQuery, pendingQuery } from '../api/queries.ts'
import { Note } from '../parts/controls.tsx'
import { Brand } from '../parts/marks.tsx'
import { plainLine } from '../parts/text.ts'
import { amountOf, clockOf, dateOf } from '../parts/time.ts'
import { lostWords } from '../safety-words.ts'
import { words } from '../words.ts'
import { Lost } from './lost.tsx'

const places: readonly {
  path: string
  name: 'inbox' | 'agents' | 'settings'
  Icon: LucideIcon
  tab: LucideIcon
}[] = [
  { path: '/', name: 'inbox', Icon: Inbox, tab: Inbox },
  { path: '/agents', name: 'agents', Icon: Bot, tab: Bot },
  { path: '/settings', name: 'settings', Icon: Settings, tab: Menu },
]

/** Where in the app a page belongs. Cards and pairings belong to the inbox. */
function placeOf(path: string): string {
  return places.slice(1).find((place) => path.startsWith(place.path))?.path ?? '/'
}

interface ShellProps {
  readonly session: CurrentSession
  /** Hides the tabs, because the page has buttons of its own there. */
  readonly hasDock: boolean
  readonly children: ReactNode
}

export function Shell({ session, hasDock, children }: ShellProps) {
  const live = useLiveState()
  useListening()
  useNotices()
  return (
    <div className="app" data-dock={hasDock || undefined}>
      <a className="skip" href="#main">
        {words.skip}
      </a>
      <Rail session={session} live={live} />
      <main className="main" id="main">
        <LiveBanner live={live} />
        <ResetBanner />
        <Lost key={session.user.id} workspaces={session.workspaces} />
        {children}
      </main>
      <Tabs />
    </div>
  )
}

function useListening(): void {
  useEffect(() => {
    const end = new AbortController()
    void listen(readAgain, end.signal)
    const onSeen = () => document.visibilityState === 'visible' && readAgain('all')
    document.addEventListener('visibilitychange', onSeen, { signal: end.signal })
    return () => end.abort()
  }, [])
}

function useNotices(): void {
  const [, navigate] = useLocation()
  useEffect(() => void keepTold(words.notices.label(navigator.userAgent)).catch(() => {}), [])
  useEffect(() => onNoticeOpened(navigate), [navigate])
}

function useWaiting(): number {
  return useQuery(pendingQuery).data?.length ?? 0
}

function Badge() {
  const waiting = useWaiting()
  if (waiting === 0) return null
  return (
    <span className="badge" data-testid="inbox-badge">
      <span aria-hidden="true">{waiting}</span>
      <span className="unseen">{words.waitingCount(waiting)}</span>
    </span>
  )
}

function Rail({ session, live }: { session: CurrentSession; live: LiveState }) {
  const [path] = useLocation()
  const { data: billing } = useQuery(billingQuery)
  const LiveIcon = live === 'offline' ? CloudOff : Radio
  return (
    <nav className="rail" aria-label={words.navigation}>
      <div className="brand">
        <Brand />
        {words.name}
      </div>
      <WorkspaceSwitch session={session} />
      {places.map(({ path: to, name, Icon }) => (
        <Link
          key={to}
          className="rail-link"
          href={to}
          aria-current={placeOf(path) === to ? 'page' : undefined}
          data-testid={`nav-${name}`}
        >
          <Icon size={18} strokeWidth={1.85} aria-hidden="true" />
          {words[name]}
          {name === 'inbox' && <Badge />}
        </Link>
      ))}
      <div className="rail-foot">
        <div>
          <span>{billing && amountOf(billing.availableBalance)}</span>
          <span className="live" data-testid="live-state" data-state={live}>
            <LiveIcon size={14} aria-hidden="true" />
            {words.live[live]}
          </span>
        </div>
        <div>
          <span className="cut">{plainLine(session.user.name ?? session.user.email ?? '')}</span>
        </div>
      </div>
    </nav>
  )
}

function Tabs() {
  const [path] = useLocation()
  return (
    <nav className="tabs" aria-label={words.navigation}>
      {places.map(({ path: to, name, tab: Icon }) => (
        <Link
          key={to}
          href={to}
          aria-current={placeOf(path) === to ? 'page' : undefined}
          data-testid={`tab-${name}`}
        >
          <span className="pip">
            <Icon size={20} strokeWidth={1.85} aria-hidden="true" />
            {name === 'inbox' && <Badge />}
          </span>
          {name === 'settings' ? words.more : words[name]}
        </Link>
      ))}
    </nav>
  )
}

/** Where what the person does from now on belongs to. The inbox is of all workspaces anyway. */
export function WorkspaceSwitch({ session }: { session: CurrentSession }) {
  const queries = useQueryClient()
  const { workspaces, current_workspace_id: current } = session
  const nameOf = (workspace: (typeof workspaces)[number] | undefined) =>
    plainLine(workspace?.name ?? words.personal)
  const name = nameOf(workspaces.find(({ id }) => id === current))
  async function choose(workspaceId: string): Promise<void> {
    await api.workspaces.setCurrent({ workspaceId })
    await queries.invalidateQueries()
  }
  return (
    <div className="switch">
      <span className="initial" aria-hidden="true">
        {name.charAt(0).toUpperCase()}
      </span>
      <span className="grow cut" aria-hidden="true">
        {name}
      </span>
      <ChevronsUpDown size={16} aria-hidden="true" />
      <select
        aria-label={words.workspace}
        value={current}
        onChange={(event) => void choose(event.target.value)}
        data-testid="workspace-switch"
      >
        {workspaces.map((workspace) => (
          <option key={workspace.id} value={workspace.id}>
            {nameOf(workspace)}
          </option>
        ))}
      </select>
    </div>
  )
}

/** On every page: it may be somebody else who asked, and there are three days to see it. */
function ResetBanner() {
  const { data: recovery } = useQuery(passkeyRecoveryQuery)
  if (!recovery?.reset) return null
  return (
    <div className="banner" data-testid="reset-banner">
      <Note look="warn">
        {lostWords.resetUnderWay(dateOf(recovery.reset.effective_at))}{' '}
        <Link className="text-link" href="/settings/passkeys">
          {words.passkeys}
        </Link>
      </Note>
    </div>
  )
}

function LiveBanner({ live }: { live: LiveState }) {
  const { dataUpdatedAt } = useQuery(pendingQuery)
  if (live !== 'offline') return null
  return (
    <div className="banner" data-testid="offline-banner">
      <Note>
        <CloudOff size={16} aria-hidden="true" />
        {words.offline(clockOf(dataUpdatedAt || Date.now()))}
      </Note>
    </div>
  )
}
