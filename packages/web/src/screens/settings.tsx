import type { CurrentSession } from '@guildhall/sdk'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import {
  AppWindow,
  Bell,
  ChevronRight,
  Fingerprint,
  LogOut,
  type LucideIcon,
  MailOpen,
  MonitorSmartphone,
  Users,
} from 'lucide-react'
import { useState } from 'react'
import { Link } from 'wouter'
import { api, serverNow } from '../api/client.ts'
import { receivedQuery } from '../api/people.ts'
import { turnOff } from '../api/push.ts'
import { sessionsQuery } from '../api/queries.ts'
import { Button, ChoiceBar, Ghost, Note } from '../parts/controls.tsx'
import { ago } from '../parts/time.ts'
import { Told } from '../parts/voices.tsx'
import { setTheme, type Theme, themeNow } from '../theme.ts'
import { words } from '../words.ts'
import { Heading } from './heading.tsx'
import { sentenceOf } from './problems.ts'
import { WorkspaceSwitch } from './shell.tsx'
import { Top } from './top.tsx'

const { apps, invitations, members } = words.people

interface PlaceProps {
  readonly path: string
  readonly icon: LucideIcon
  readonly title: string
  readonly note: string
}

function Place({ path, icon: Icon, title, note }: PlaceProps) {
  return (
    <li>
      <Link className="row" href={`/settings/${path}`} data-testid={`settings-${path}`}>
        <span className="row-icon">
          <Icon size={18} aria-hidden="true" />
        </span>
        <span className="grow">
          <span className="row-title">{title}</span>
          <span className="row-note">{note}</span>
        </span>
        <ChevronRight size={18} aria-hidden="true" />
      </Link>
    </li>
  )
}

export default function Settings({ session }: { session: CurrentSession }) {
  const queries = useQueryClient()
  const { data: received } = useQuery(receivedQuery)
  const [theme, chooseTheme] = useState(themeNow)
  async function signOut(): Promise<void> {
    await api.session.signOut()
    await turnOff().catch(() => {})
    queries.setQueryData(['session'], null)
    queries.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== 'session' })
  }
  return (
    <>
      <div className="head">
        <Heading className="page-title" title={words.settings}>
          {words.settings}
        </Heading>
      </div>
      <div className="page settings">
        <section className="section">
          <div className="section-title">
            <h2>{words.you}</h2>
          </div>
          <ul className="surface rows">
            <Place path="passkeys" icon={Fingerprint} title={words.passkeys} note={words.passkeysText} />
            <Place path="notices" icon={Bell} title={words.notices.title} note={words.notices.note} />
            <Place
              path="sessions"
              icon={MonitorSmartphone}
              title={words.sessions}
              note={words.sessionsText}
            />
            <Place path="apps" icon={AppWindow} title={apps.title} note={apps.note} />
            <Place
              path="invitations"
              icon={MailOpen}
              title={invitations.title}
              note={received?.length ? invitations.waiting(received.length) : invitations.note}
            />
          </ul>
        </section>
        <section className="section">
          <div className="section-title">
            <h2>{words.workspace}</h2>
          </div>
          <WorkspaceSwitch session={session} />
          <ul className="surface section rows">
            <Place path="members" icon={Users} title={members.title} note={members.note} />
          </ul>
          <div className="section section-title">
            <h2>{words.theme.title}</h2>
          </div>
          <ChoiceBar
            name="theme"
            label={words.theme.title}
            options={(['system', 'light', 'dark'] as const).map((value) => ({
              value,
              title: words.theme[value],
            }))}
            value={theme}
            onChange={(value: Theme) => {
              setTheme(value)
              chooseTheme(value)
            }}
          />
          <div className="section">
            <Button
              icon={<LogOut size={18} aria-hidden="true" />}
              onClick={() => void signOut()}
              data-testid="sign-out"
            >
              {words.signOut}
            </Button>
          </div>
        </section>
      </div>
    </>
  )
}

export function Sessions() {
  const queries = useQueryClient()
  const { data: sessions } = useQuery(sessionsQuery)
  const [problem, setProblem] = useState<string>()
  async function act(work: () => Promise<unknown>): Promise<void> {
    setProblem(undefined)
    try {
      await work()
    } catch (error) {
      setProblem(sentenceOf(error))
    }
    await queries.invalidateQueries({ queryKey: ['sessions'] })
  }
  return (
    <>
      <Top title={words.sessions} back="/settings" />
      <div className="decision">
        <Heading className="ask" title={words.sessions}>
          {words.sessions}
        </Heading>
        <p className="quiet">{words.sessionsText}</p>
        {problem && <Note look="bad">{problem}</Note>}
        {!sessions && <Ghost />}
        <ul className="surface section rows">
          {sessions?.map((one) => (
            <li className="row" key={one.id} data-testid="session-row" data-current={one.current}>
              <span className="grow">
                <span className="row-title">
                  <Told text={one.label ?? one.client_ua ?? words.unnamedSession} />
                </span>
                <span className="row-note">
                  {one.current ? words.thisSession : ago(one.last_used_at, serverNow())}
                  {one.client_ip && ` · ${one.client_ip}`}
                </span>
              </span>
              {!one.current && (
                <Button size="small" onClick={() => void act(() => api.session.end(String(one.id)))}>
                  {words.endSession}
                </Button>
              )}
            </li>
          ))}
        </ul>
        {sessions && sessions.length > 1 && (
          <div className="section">
            <Button
              look="danger"
              onClick={() => void act(() => api.session.endOthers())}
              data-testid="end-others"
            >
              {words.endOthers}
            </Button>
          </div>
        )}
      </div>
    </>
  )
}
