import type { Approval } from '@guildhall/sdk'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { CircleCheck, CircleSlash, Clock, Plus } from 'lucide-react'
import { memo, type ReactNode, useState } from 'react'
import { Link } from 'wouter'
import { deny } from '../api/decide.ts'
import { useLiveState } from '../api/live.ts'
import { decidedQuery, pendingQuery } from '../api/queries.ts'
import { Button, Empty, Ghost, Note, Sensitive } from '../parts/controls.tsx'
import { Sign } from '../parts/marks.tsx'
import { plainLine } from '../parts/text.ts'
import { clockOf } from '../parts/time.ts'
import { Timer } from '../parts/timer.tsx'
import { words } from '../words.ts'
import { fromOf, kindOf, outcomeOf, pathOf, shortAskOf } from './describe.ts'
import { useHeldList } from './held-list.ts'
import { isSettled, sentenceOf } from './problems.ts'

const filters = {
  all: () => true,
  access: ({ kind }: Approval) => ['activation', 'consent', 'permission', 'tool'].includes(kind),
  questions: ({ kind }: Approval) => ['workflow', 'ask'].includes(kind),
  budget: ({ kind }: Approval) => kind === 'budget',
} as const
type Filter = keyof typeof filters

/** What waits, soonest first. No was said here in one tap; yes is only on the card. */
export function InboxList({ selected, title }: { selected: string | undefined; title: ReactNode }) {
  const { data: pending, error, refetch } = useQuery(pendingQuery)
  const [filter, setFilter] = useState<Filter>('all')
  const [problem, setProblem] = useState<string>()
  const { held, handlers, fresh, release } = useHeldList(pending ?? [])
  const shown = held.filter(filters[filter])
  return (
    <>
      <div className="head">
        <div className="grow">
          {title}
          {pending && <p>{words.inboxHead(pending.length)}</p>}
        </div>
        <Link className="button" data-size="small" href="/pair" data-testid="pair-open">
          <Plus size={16} aria-hidden="true" />
          {words.pair}
        </Link>
      </div>
      {pending && pending.length > 0 && (
        <fieldset className="chips" aria-label={words.filters.label}>
          {(Object.keys(filters) as Filter[]).map((name) => (
            <button
              key={name}
              type="button"
              className="chip"
              aria-pressed={filter === name}
              onClick={() => setFilter(name)}
            >
              {words.filters[name]} <span>{held.filter(filters[name]).length}</span>
            </button>
          ))}
        </fieldset>
      )}
      <div className="requests" {...handlers}>
        {problem && <Note look="bad">{problem}</Note>}
        {fresh > 0 && (
          <Button size="small" data-testid="inbox-new" onClick={release}>
            {words.newCards(fresh)}
          </Button>
        )}
        {pending === undefined && !error && <Ghost />}
        {pending === undefined && error && (
          <>
            <Note look="bad">{words.failed(undefined)}</Note>
            <Button onClick={() => void refetch()}>{words.retry}</Button>
          </>
        )}
        {pending?.length === 0 && <Empty {...words.empty} testId="inbox-empty" />}
        {shown.length > 0 && (
          <ul className="requests-list" data-testid="inbox-list">
            {shown.map((request) => (
              <li key={request.id}>
                <RequestCard request={request} isSelected={request.id === selected} onProblem={setProblem} />
              </li>
            ))}
          </ul>
        )}
        <Decided />
      </div>
    </>
  )
}

interface RequestCardProps {
  readonly request: Approval
  readonly isSelected: boolean
  readonly onProblem: (problem: string | undefined) => void
}

const RequestCard = memo(function RequestCard({ request, isSelected, onProblem }: RequestCardProps) {
  const queries = useQueryClient()
  const live = useLiveState()
  const { kind, key, scopes, workspace, client, times } = request
  const from = fromOf(request)
  const ask = shortAskOf(request)
  const path = pathOf(request)
  const sensitive = scopes.filter((scope) => scope.sensitive).length
  const isQuestion = kind === 'workflow'

  /** Taken out at once, because no is the safe answer; it comes back when the server refuses it. */
  async function refuse(): Promise<void> {
    const { queryKey } = pendingQuery
    onProblem(undefined)
    await queries.cancelQueries({ queryKey })
    queries.setQueryData(queryKey, (all) => all?.filter(({ id }) => id !== request.id))
    try {
      await deny(request)
    } catch (error) {
      if (!isSettled(error)) onProblem(sentenceOf(error))
    }
    await queries.invalidateQueries({ queryKey: ['approvals'] })
  }

  return (
    <article
      className="surface request"
      aria-label={words.cardName(kindOf(request), from, ask, sensitive > 0 ? words.sensitive : '')}
      data-testid="inbox-card"
      data-kind={kind}
      data-id={request.id}
      data-selected={isSelected || undefined}
    >
      <Link className="request-link" href={path}>
        <Sign keyId={key?.id} kind={kind} />
        <span className="grow">
          <span className="request-from">
            <span className="cut">{from}</span>
            <Timer createdAt={request.created_at} expiresAt={request.expires_at} />
          </span>
          <span className="request-ask">{ask}</span>
          <span className="request-bits">
            {sensitive > 0 && (kind === 'permission' ? <Sensitive /> : <Sensitive count={sensitive} />)}
            {kind === 'permission' && <span className="tag">{scopes[0]?.scope}</span>}
            {client && <span className="claimed">“{plainLine(client.label)}”</span>}
            {request.action?.unusual && <span className="tag">{words.unusual}</span>}
            {times > 1 && <span>{words.askedTimes(times)}</span>}
            {workspace?.name && <span>{workspace.name}</span>}
          </span>
        </span>
      </Link>
      <div className="request-acts">
        {!isQuestion && (
          <Button data-testid="card-deny" disabled={live === 'offline'} onClick={() => void refuse()}>
            {words.deny}
          </Button>
        )}
        <Link className="button" data-look="tint" data-testid="card-review" href={path}>
          {isQuestion ? words.answer : words.review}
        </Link>
      </div>
    </article>
  )
})

const icons = { granted: CircleCheck, denied: CircleSlash }

function Decided() {
  const { data: decided } = useQuery(decidedQuery)
  if (!decided || decided.length === 0) return null
  return (
    <section className="section">
      <div className="section-title">
        <h2>{words.decidedTitle}</h2>
      </div>
      <ul className="surface rows">
        {decided.map((request) => {
          const Icon = icons[request.status as keyof typeof icons] ?? Clock
          return (
            <li className="row" key={request.id} data-testid="decided-row" data-state={request.status}>
              <Icon size={20} aria-hidden="true" />
              <span className="grow">
                <span className="row-title">
                  {outcomeOf(request)} · {shortAskOf(request)}
                </span>
                <span className="row-note">
                  {fromOf(request)}
                  {request.decided_at && `, ${clockOf(request.decided_at)}`}
                </span>
              </span>
            </li>
          )
        })}
      </ul>
    </section>
  )
}
