import type { KeyDetail } from '@guildhall/sdk'
import { NotFoundError } from '@guildhall/sdk/core'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { CircleX, X } from 'lucide-react'
import { useState } from 'react'
import { Link } from 'wouter'
import { api, serverNow } from '../api/client.ts'
import { useLiveState } from '../api/live.ts'
import { keyQuery } from '../api/queries.ts'
import { Button, Loading, Note } from '../parts/controls.tsx'
import { ActivityPill, Sigil } from '../parts/marks.tsx'
import { plainLine } from '../parts/text.ts'
import { ago, amountOf, clockOf, dateOf } from '../parts/time.ts'
import { Timer, useIsOver } from '../parts/timer.tsx'
import { Facts, Told } from '../parts/voices.tsx'
import { scopeWords } from '../scope-words.ts'
import { words } from '../words.ts'
import { takesAnyBody } from './action-parts.ts'
import { Heading } from './heading.tsx'
import { isSettled, sentenceOf } from './problems.ts'
import { RevokeOne } from './revoke-sheets.tsx'
import { Top } from './top.tsx'
import { EndedAgent, TouchedSection } from './touched.tsx'

interface AgentProps {
  readonly id: number
}

/** One agent: what it does and may do now, and how to end all of it. */
export function Agent({ id }: AgentProps) {
  const { data: agent, error, refetch } = useQuery(keyQuery(id))
  const [said, setSaid] = useState<string>()
  if (said !== undefined || NotFoundError.is(error)) return <EndedAgent id={id} said={said} />
  if (agent) return <AgentPage agent={agent} onRevoked={setSaid} />
  if (!error) return <Loading />
  return (
    <div className="decision">
      <Note look="bad">{words.failed(undefined)}</Note>
      <Button onClick={() => void refetch()}>{words.retry}</Button>
    </div>
  )
}

interface AgentPageProps {
  readonly agent: KeyDetail
  readonly onRevoked: (said: string) => void
}

function AgentPage({ agent, onRevoked }: AgentPageProps) {
  const queries = useQueryClient()
  const live = useLiveState()
  const [isRevoking, setRevoking] = useState(false)
  const [isSending, setSending] = useState(false)
  const [problem, setProblem] = useState<string>()
  const label = plainLine(agent.label)
  const isLocked = isSending || live === 'offline'

  /** Shown as done when the server has said so: what seems ended and is not would be worse than a moment's wait. */
  async function act(work: () => Promise<unknown>): Promise<void> {
    setSending(true)
    setProblem(undefined)
    try {
      await work()
    } catch (error) {
      // It was used up or is over: that is what was wanted.
      if (!isSettled(error)) setProblem(sentenceOf(error))
    }
    setSending(false)
    await queries.invalidateQueries({ queryKey: ['keys'] })
  }

  function close(done?: string): void {
    setRevoking(false)
    if (done !== undefined) onRevoked(done)
  }

  return (
    <>
      <Top title={words.agents} back="/agents" />
      <div className="decision">
        <div className="who">
          <Sigil keyId={agent.id} size={52} />
          <span className="grow">
            <Heading className="who-name" title={words.agents}>
              {label}
            </Heading>
            <span className="row-note">{agent.workspace.name ?? words.personal}</span>
            <ActivityPill activity={agent.activity} />
          </span>
          <Button
            look="danger"
            icon={<CircleX size={18} aria-hidden="true" />}
            data-testid="agent-revoke"
            disabled={live === 'offline'}
            onClick={() => setRevoking(true)}
          >
            {words.revoke}
          </Button>
        </div>
        {problem && <Note look="bad">{problem}</Note>}
        <Spending agent={agent} />
        {agent.pending > 0 && (
          <p className="section">
            <Link href="/" data-testid="agent-pending">
              {words.agentWaits(agent.pending)}
            </Link>
          </p>
        )}
        <Working agent={agent} />
        <Grants
          grants={agent.grants}
          isLocked={isLocked}
          onEnd={(grantId) => void act(() => api.keys.endGrant(String(agent.id), String(grantId)))}
        />
        <AlwaysAllowed
          scopes={agent.scopes}
          isLocked={isLocked}
          onTakeBack={(scope) => void act(() => api.permissions.remove(String(agent.id), scope))}
        />
        <TouchedSection id={agent.id} />
        <KeyFacts agent={agent} />
      </div>
      {isRevoking && <RevokeOne agent={agent} onClose={close} />}
    </>
  )
}

function Spending({ agent: { spend, lastUsedAt } }: { agent: KeyDetail }) {
  const inAll = amountOf(spend.total)
  const stats = [
    { name: words.spentToday, value: amountOf(spend.today), testId: 'spent-today' },
    { name: words.spentMonth, value: amountOf(spend.month), testId: 'spent-month' },
    {
      name: words.spentInAll,
      value: spend.limit === null ? inAll : words.ofLimit(inAll, amountOf(spend.limit)),
      testId: 'spent-total',
    },
    {
      name: words.lastUsed,
      value: lastUsedAt ? ago(lastUsedAt, serverNow()) : words.never,
      testId: 'last-used',
    },
  ]
  return (
    <dl className="surface section stats">
      {stats.map(({ name, value, testId }) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd data-testid={testId}>{value}</dd>
        </div>
      ))}
    </dl>
  )
}

function Working({ agent: { running, runs, chats, spend } }: { agent: KeyDetail }) {
  const rows = [
    ...running.map((one) => ({
      id: one.executionId,
      title: one.skillName,
      note: [
        amountOf(one.cost),
        ...(one.startedAt ? [words.since(ago(one.startedAt, serverNow()))] : []),
      ].join(' · '),
    })),
    ...runs.map(({ runId: id, name: title, status }) => ({ id, title, note: words.runOf(status) })),
    ...chats.map(({ runId: id, agentSlug: title, status }) => ({ id, title, note: words.chatOf(status) })),
  ]
  if (rows.length === 0) return null
  return (
    <section className="section">
      <div className="section-title">
        <h2>{words.workingNow}</h2>
        {spend.reserved > 0 && <span>{words.setAside(amountOf(spend.reserved))}</span>}
      </div>
      <ul className="surface rows">
        {rows.map(({ id, title, note }) => (
          <li className="row" key={id} data-testid="work-row">
            <span className="grow">
              <span className="row-title">
                <Told text={title} />
              </span>
              <span className="row-note">{note}</span>
            </span>
          </li>
        ))}
      </ul>
    </section>
  )
}

interface GrantsProps {
  readonly grants: KeyDetail['grants']
  readonly isLocked: boolean
  readonly onEnd: (grantId: number) => void
}

function Grants({ grants, isLocked, onEnd }: GrantsProps) {
  if (grants.length === 0) return null
  return (
    <section className="section">
      <div className="section-title">
        <h2>{words.openGrants}</h2>
      </div>
      <ul className="surface rows">
        {grants.map((grant) => (
          <GrantRow key={grant.id} grant={grant} isLocked={isLocked} onEnd={onEnd} />
        ))}
      </ul>
    </section>
  )
}

interface GrantRowProps {
  readonly grant: KeyDetail['grants'][number]
  readonly isLocked: boolean
  readonly onEnd: (grantId: number) => void
}

function GrantRow({ grant, isLocked, onEnd }: GrantRowProps) {
  const isOver = useIsOver(grant.expiresAt)
  const { title } = scopeWords(grant.scope)
  return (
    <li className="row" data-testid="grant-row" data-scope={grant.scope}>
      <span className="grow">
        <span className="row-title">{title}</span>
        <span className="row-note">
          {grant.mode === 'one_time' ? words.grantOnce : words.grantSession}
          {grant.bound && (
            <>
              {' · '}
              <span className="tag">
                <Told text={`${grant.bound.method} ${grant.bound.path}`} />
              </span>
              {takesAnyBody(grant.bound) && ` ${words.withAnyBody}`}
            </>
          )}
        </span>
        <Timer createdAt={grant.createdAt} expiresAt={grant.expiresAt} isLong />
      </span>
      <Button
        size="small"
        aria-label={words.endGrantOf(title)}
        disabled={isLocked || isOver}
        onClick={() => onEnd(grant.id)}
        data-testid="grant-end"
      >
        {words.endNow}
      </Button>
    </li>
  )
}

interface AlwaysAllowedProps {
  readonly scopes: readonly string[]
  readonly isLocked: boolean
  readonly onTakeBack: (scope: string) => void
}

function AlwaysAllowed({ scopes, isLocked, onTakeBack }: AlwaysAllowedProps) {
  return (
    <section className="section">
      <div className="section-title">
        <h2>{words.alwaysAllowed}</h2>
      </div>
      {scopes.length === 0 && <p className="quiet">{words.nothingAllowed}</p>}
      {scopes.length > 0 && (
        <ul className="surface rows">
          {scopes.map((scope) => {
            const title = scope === '*' ? words.fullAccess : scopeWords(scope).title
            return (
              <li className="row" key={scope}>
                <span className="grow row-title">{title}</span>
                <span className="tag">{scope}</span>
                {scope !== '*' && (
                  <button
                    type="button"
                    className="icon-button"
                    aria-label={words.takeBack(title)}
                    disabled={isLocked}
                    onClick={() => onTakeBack(scope)}
                    data-testid="scope-remove"
                  >
                    <X size={18} aria-hidden="true" />
                  </button>
                )}
              </li>
            )
          })}
        </ul>
      )}
    </section>
  )
}

function KeyFacts({ agent }: { agent: KeyDetail }) {
  const { prefix, clientLabel, clientUa, createdAt, expiresAt, oldSecretUntil } = agent
  return (
    <section className="section">
      <div className="section-title">
        <h2>{words.keyTitle}</h2>
      </div>
      <Facts
        facts={[
          { name: words.keyBegins, value: prefix, isExact: true },
          ...(clientLabel ? [{ name: words.calls, value: <Told text={clientLabel} /> }] : []),
          ...(clientUa ? [{ name: words.program, value: <Told text={clientUa} />, isExact: true }] : []),
          { name: words.keyCreated, value: dateOf(createdAt) },
          ...(expiresAt ? [{ name: words.keyExpires, value: dateOf(expiresAt) }] : []),
          ...(oldSecretUntil ? [{ name: words.oldSecret, value: words.until(clockOf(oldSecretUntil)) }] : []),
        ]}
      />
    </section>
  )
}
