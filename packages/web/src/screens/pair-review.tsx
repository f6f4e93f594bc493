import type { DeviceAuth } from '@guildhall/sdk'
import { ApiError } from '@guildhall/sdk/core'
import type { LookupActivationAnswer } from '@guildhall/sdk/pairings'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { CircleCheck, CircleSlash, Fingerprint } from 'lucide-react'
import { useEffect, useState } from 'react'
import { useLocation } from 'wouter'
import { api } from '../api/client.ts'
import { useLiveState } from '../api/live.ts'
import { approvalQuery, passkeysQuery, sessionQuery } from '../api/queries.ts'
import { Button, Note, Sensitive } from '../parts/controls.tsx'
import { Timer, useIsOver, useNow } from '../parts/timer.tsx'
import { Facts, Told } from '../parts/voices.tsx'
import { words } from '../words.ts'
import { CodeBoxes } from './code-boxes.tsx'
import { useGuard } from './guard.ts'
import { Heading } from './heading.tsx'
import { isSettled, sentenceOf, wantsPasskey } from './problems.ts'
import { type Chosen, chosenAtFirst, ScopeChooser, sensitiveIn } from './scope-chooser.tsx'
import { Top } from './top.tsx'

type Outcome = 'paired' | 'denied' | 'over' | 'mismatch' | 'pairedElsewhere' | 'deniedElsewhere'
const stayMs = 3000

/** What a code would pair, and with what. */
export function PairReview({ pairing }: { pairing: LookupActivationAnswer }) {
  const { user_code: code, requested_scopes: scopes, match_choices: numbers } = pairing
  const queries = useQueryClient()
  const { data: session } = useQuery(sessionQuery)
  const { data: passkeys } = useQuery(passkeysQuery)
  const { data: listed } = useQuery(approvalQuery(pairing.approval_id))
  const [workspaceId, setWorkspaceId] = useState(session?.current_workspace_id ?? '')
  const [access, setAccess] = useState<'declared' | 'full'>('declared')
  const [chosen, setChosen] = useState<Chosen>(() => chosenAtFirst(scopes))
  const [match, setMatch] = useState<string>()
  const [outcome, setOutcome] = useState<Outcome>()
  const [isSending, setSending] = useState(false)
  const [problem, setProblem] = useState<string>()
  const [shownAt] = useState(() => new Date().toISOString())
  const isOver = useIsOver(pairing.expires_at)
  const isOffline = useLiveState() === 'offline'
  const isOpen = useGuard(JSON.stringify(pairing))

  const granted = access === 'full' ? {} : { ...chosen }
  const names = Object.keys(granted)
  const sensitive = access === 'full' ? 1 : sensitiveIn(scopes, chosen)
  const mustHavePasskey = access !== 'full' && sensitive > 0
  const lacksPasskey = mustHavePasskey && passkeys?.length === 0
  const needsPasskey = sensitive > 0 && passkeys?.length !== 0
  const wish = {
    code,
    access,
    ...(names.length > 0 && { scopes: names, modes: granted }),
  }

  async function prove(): Promise<DeviceAuth | undefined> {
    const { assertion } = await api.passkeys.prepare({ purpose: 'confirm', ...wish })
    if (!assertion) return undefined
    const { assertPasskey } = await import('./passkey.ts')
    return assertPasskey(assertion)
  }

  async function decide(act: () => Promise<unknown>, done: Outcome): Promise<void> {
    setSending(true)
    setProblem(undefined)
    try {
      await act()
      setOutcome(done)
    } catch (error) {
      if (ApiError.is(error) && error.details['reason'] === 'MATCH') setOutcome('mismatch')
      else if (isSettled(error)) setOutcome('over')
      else setProblem(wantsPasskey(error) ? words.passkey.none : sentenceOf(error))
    }
    setSending(false)
    void queries.invalidateQueries({ queryKey: ['approvals'] })
    void queries.invalidateQueries({ queryKey: ['keys'] })
  }

  function confirm(): void {
    if (!isOpen()) return
    void decide(async () => {
      const proof = needsPasskey ? await prove() : undefined
      await api.pairings.confirm(
        { ...wish, ...(match && { match }), ...(proof && { device_auth: proof }) },
        { workspaceId },
      )
    }, 'paired')
  }

  if (outcome) return <PairDone outcome={outcome} />
  if (listed?.status === 'granted' && !isSending) return <PairDone outcome="pairedElsewhere" />
  if (listed?.status === 'denied' && !isSending) return <PairDone outcome="deniedElsewhere" />
  if (pairing.status !== 'pending' || isOver) return <PairDone outcome="over" />
  const isReady = !isSending && !isOffline
  return (
    <>
      <Top title={words.newDevice} end={<Timer createdAt={shownAt} expiresAt={pairing.expires_at} />} />
      <div className="decision" data-testid="pair-review">
        <Heading className="ask center" title={words.newDevice} testId="ask">
          {words.pairing.review}
        </Heading>
        <div className="code" data-state="fixed">
          <CodeBoxes symbols={code.replace('-', '')} />
          <span className="unseen">{code}</span>
        </div>
        <Facts
          facts={[
            {
              name: words.pairing.saysItIs,
              value: (
                <span className="claimed">
                  “<Told text={pairing.client_label} />”
                </span>
              ),
              testId: 'pair-label',
            },
            {
              name: words.pairing.program,
              value: <Told text={pairing.client_ua} />,
              isExact: true,
              testId: 'pair-ua',
            },
            { name: words.pairing.address, value: pairing.client_ip, isExact: true, testId: 'pair-ip' },
          ]}
        />
        {pairing.same_network ? (
          <Note look="good">{words.pairing.sameNetwork}</Note>
        ) : (
          <Note look="warn" testId="pair-network-warning">
            <strong>{words.pairing.otherTitle}</strong> {words.pairing.otherText}
          </Note>
        )}
        {numbers && (
          <fieldset className="section">
            <legend className="section-title">{words.pairing.match}</legend>
            <div className="numbers">
              {numbers.map((number) => (
                <label className="option choice" key={number}>
                  <input
                    type="radio"
                    className="unseen"
                    name="match"
                    checked={match === number}
                    onChange={() => setMatch(number)}
                  />
                  {number}
                </label>
              ))}
            </div>
            <p className="small quiet">{words.pairing.matchText}</p>
          </fieldset>
        )}
        {session && session.workspaces.length > 1 && (
          <section className="section">
            <label>
              <span className="section-title">{words.pairing.worksIn}</span>
              <select
                className="input"
                value={workspaceId}
                onChange={(event) => setWorkspaceId(event.target.value)}
                data-testid="pair-workspace"
              >
                {session.workspaces.map(({ id, name }) => (
                  <option key={id} value={id}>
                    {name ?? words.personal}
                  </option>
                ))}
              </select>
            </label>
          </section>
        )}
        {scopes.length > 0 && access === 'declared' ? (
          <ScopeChooser scopes={scopes} chosen={chosen} onChange={setChosen} />
        ) : (
          <AccessChoice access={access} onChange={setAccess} />
        )}
      </div>
      <section className="dock" aria-label={words.pairing.review}>
        <div className="dock-inner">
          {problem && (
            <Note look="bad" testId="problem">
              {problem}
            </Note>
          )}
          {lacksPasskey && <Note look="warn">{words.passkey.none}</Note>}
          <div className="dock-acts">
            <Button
              size="large"
              data-testid="pair-deny"
              disabled={!isReady}
              onClick={() => void decide(() => api.pairings.deny({ code }), 'denied')}
            >
              {words.deny}
            </Button>
            <Button
              look="primary"
              size="large"
              data-testid="pair-approve"
              isBusy={isSending}
              disabled={!isReady || lacksPasskey || (numbers !== undefined && match === undefined)}
              icon={needsPasskey && <Fingerprint size={20} aria-hidden="true" />}
              onClick={confirm}
            >
              {words.pairing.confirm}
            </Button>
          </div>
        </div>
      </section>
    </>
  )
}

interface AccessChoiceProps {
  readonly access: 'declared' | 'full'
  readonly onChange: (access: 'declared' | 'full') => void
}

function AccessChoice({ access, onChange }: AccessChoiceProps) {
  const options = [
    { value: 'declared', title: words.pairing.declared, text: words.pairing.declaredText },
    { value: 'full', title: words.pairing.full, text: words.pairing.fullText },
  ] as const
  return (
    <fieldset className="section">
      <legend className="section-title">{words.pairing.startsWith}</legend>
      {options.map(({ value, title, text }) => (
        <label className="option" key={value} data-testid={`pair-access-${value}`}>
          <input
            type="radio"
            className="radio"
            name="access"
            checked={access === value}
            onChange={() => onChange(value)}
          />
          <span className="grow">
            <span className="scope-title">
              {title}
              {value === 'full' && <Sensitive />}
            </span>
            <span className="row-note">{text}</span>
          </span>
        </label>
      ))}
    </fieldset>
  )
}

const endings: Record<Outcome, { title: string; text: string }> = {
  paired: { title: words.pairing.paired, text: words.pairing.pairedText },
  denied: { title: words.done.denied, text: words.pairing.denied },
  pairedElsewhere: { title: words.pairing.paired, text: words.pairing.pairedElsewhere },
  deniedElsewhere: { title: words.done.denied, text: words.pairing.deniedElsewhere },
  over: { title: words.ended, text: words.pairing.over },
  mismatch: { title: words.done.denied, text: words.pairing.mismatch },
}

function PairDone({ outcome }: { outcome: Outcome }) {
  const [, navigate] = useLocation()
  useNow()
  useEffect(() => {
    const timer = setTimeout(() => navigate('/', { replace: true }), stayMs)
    return () => clearTimeout(timer)
  }, [navigate])
  const { title, text } = endings[outcome]
  const Icon = title === words.pairing.paired ? CircleCheck : CircleSlash
  return (
    <>
      <Top title={words.newDevice} />
      <div className="done" data-testid="decided-banner" data-state={outcome}>
        <Icon size={44} aria-hidden="true" />
        <Heading className="ask" title={title}>
          {title}
        </Heading>
        <p className="quiet">{text}</p>
      </div>
    </>
  )
}
