import type { NotificationSettings } from '@guildhall/sdk'
import type { UpdateNotificationSettingsBody } from '@guildhall/sdk/profile'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Bell } from 'lucide-react'
import { useState } from 'react'
import { api, serverNow } from '../api/client.ts'
import { turnOff, turnOn } from '../api/push.ts'
import { noticesQuery, pushStateQuery, toldBrowsersQuery } from '../api/queries.ts'
import { Button, ChoiceBar, Ghost, Note } from '../parts/controls.tsx'
import { ago } from '../parts/time.ts'
import { Told } from '../parts/voices.tsx'
import { words } from '../words.ts'
import { Heading } from './heading.tsx'
import { sentenceOf } from './problems.ts'
import { Top } from './top.tsx'

const choices = ['all', 'sensitive', 'none'] as const
type Kinds = NonNullable<UpdateNotificationSettingsBody['quiet']>['except']

/** Whether this browser is told of what waits, of what, and when not. */
export default function Notices() {
  const queries = useQueryClient()
  const { data: state } = useQuery(pushStateQuery)
  const { data: browsers } = useQuery(toldBrowsersQuery)
  const [isBusy, setBusy] = useState(false)
  const [problem, setProblem] = useState<string>()
  async function act(work: () => Promise<unknown>): Promise<void> {
    setBusy(true)
    setProblem(undefined)
    try {
      await work()
    } catch (error) {
      setProblem(error instanceof DOMException ? words.notices.failed : sentenceOf(error))
    }
    await queries.invalidateQueries({ queryKey: ['push'] })
    setBusy(false)
  }
  const remove = async ({ id, current }: { id: string; current: boolean }) => {
    await api.push.remove(id)
    if (current) await turnOff()
  }
  return (
    <>
      <Top title={words.notices.title} back="/settings" />
      <div className="decision">
        <Heading className="ask" title={words.notices.title}>
          {words.notices.title}
        </Heading>
        <p className="quiet">{words.notices.text}</p>
        {problem && (
          <Note look="bad" testId="notices-problem">
            {problem}
          </Note>
        )}
        {!state && <Ghost count={1} />}
        {(state === 'unsupported' || state === 'refused') && (
          <Note look="warn" testId="notices-state">
            {words.notices[state]}
          </Note>
        )}
        {state === 'off' && (
          <Button
            look="primary"
            icon={<Bell size={18} aria-hidden="true" />}
            isBusy={isBusy}
            onClick={() => void act(() => turnOn(words.notices.label(navigator.userAgent)))}
            data-testid="notices-on"
          >
            {words.notices.turnOn}
          </Button>
        )}
        {browsers && browsers.length > 0 && (
          <ul className="surface section rows">
            {browsers.map((browser) => (
              <li className="row" key={browser.id} data-testid="told-browser" data-current={browser.current}>
                <span className="grow">
                  <span className="row-title">
                    <Told text={browser.label ?? words.unnamedSession} />
                  </span>
                  <span className="row-note">
                    {browser.failing
                      ? words.notices.failing
                      : browser.deliveredAt
                        ? words.notices.delivered(ago(browser.deliveredAt, serverNow()))
                        : words.notices.never}
                  </span>
                </span>
                <Button size="small" onClick={() => void act(() => api.push.test(browser.id))}>
                  {words.notices.test}
                </Button>
                <Button size="small" onClick={() => void act(() => remove(browser))}>
                  {words.notices.remove}
                </Button>
              </li>
            ))}
          </ul>
        )}
        <Wishes act={act} />
      </div>
    </>
  )
}

function Wishes({ act }: { act: (work: () => Promise<unknown>) => Promise<void> }) {
  const { data: wishes } = useQuery(noticesQuery)
  if (!wishes) return null
  const change = (changes: UpdateNotificationSettingsBody) =>
    void act(() => api.profile.updateNotifications(changes))
  return (
    <>
      <div className="section section-title">
        <h2>{words.notices.of}</h2>
      </div>
      <ChoiceBar
        name="approvals"
        label={words.notices.of}
        options={choices.map((value) => ({
          value,
          title: words.notices.approvals[value],
        }))}
        value={choices.find((choice) => choice === wishes.approvals) ?? 'all'}
        onChange={(approvals) => change({ approvals })}
      />
      <div className="section section-title">
        <h2>{words.notices.quiet}</h2>
      </div>
      <Quiet quiet={wishes.quiet} change={change} />
    </>
  )
}

/** Saved with a button: half a time is none. */
function Quiet({
  quiet,
  change,
}: {
  quiet: NotificationSettings['quiet']
  change: (changes: UpdateNotificationSettingsBody) => void
}) {
  const [from, setFrom] = useState(quiet?.from ?? '22:00')
  const [to, setTo] = useState(quiet?.to ?? '07:00')
  const { timeZone: timezone } = Intl.DateTimeFormat().resolvedOptions()
  return (
    <>
      <p className="quiet">
        {quiet ? words.notices.quietFrom(quiet.from, quiet.to) : words.notices.quietText}
      </p>
      <div className="row">
        <label className="grow">
          {words.notices.from}
          <input
            className="input"
            type="time"
            value={from}
            onChange={({ target }) => setFrom(target.value)}
          />
        </label>
        <label className="grow">
          {words.notices.to}
          <input className="input" type="time" value={to} onChange={({ target }) => setTo(target.value)} />
        </label>
        <Button
          size="small"
          disabled={from === '' || to === '' || from === to}
          onClick={() =>
            change({ quiet: { from, to, timezone, except: [...(quiet?.except ?? [])] as Kinds } })
          }
          data-testid="quiet-save"
        >
          {words.notices.save}
        </Button>
        {quiet && (
          <Button size="small" onClick={() => change({ quiet: null })} data-testid="quiet-off">
            {words.notices.turnOff}
          </Button>
        )}
      </div>
    </>
  )
}
