import type { Approval } from '@guildhall/sdk'
import { NotFoundError } from '@guildhall/sdk/core'
import { useQuery } from '@tanstack/react-query'
import { CircleCheck, CircleSlash, Clock } from 'lucide-react'
import { type ReactNode, useEffect } from 'react'
import { Redirect, useLocation } from 'wouter'
import { serverNow } from '../api/client.ts'
import { approvalQuery, pendingQuery } from '../api/queries.ts'
import { Button, Loading, Note } from '../parts/controls.tsx'
import { ago } from '../parts/time.ts'
import { Timer } from '../parts/timer.tsx'
import { Told } from '../parts/voices.tsx'
import { words } from '../words.ts'
import { BudgetCard, type CardProps, ConsentCard, PermissionCard, ToolCard, UnknownCard } from './cards.tsx'
import { kindOf, outcomeOf, pathOf } from './describe.ts'
import { Heading } from './heading.tsx'
import { NotFound } from './not-found.tsx'
import { AskCard, WorkflowCard } from './question-cards.tsx'
import { Top } from './top.tsx'
import { isWide } from './wide.ts'

const cards: Readonly<Record<string, (props: CardProps) => ReactNode>> = {
  permission: PermissionCard,
  consent: ConsentCard,
  budget: BudgetCard,
  tool: ToolCard,
  ask: AskCard,
  workflow: WorkflowCard,
}

/** One request, looked at and decided. */
export default function Decision({ id }: { id: string }) {
  const { data: request, error, refetch } = useQuery(approvalQuery(id))
  if (!request) {
    if (NotFoundError.is(error)) return <NotFound />
    return (
      <>
        <Top title={words.unknownKind} />
        {error ? (
          <div className="decision">
            <Note look="bad">{words.failed(undefined)}</Note>
            <Button onClick={() => void refetch()}>{words.retry}</Button>
          </div>
        ) : (
          <Loading />
        )}
      </>
    )
  }
  if (request.kind === 'activation' && request.status === 'pending')
    return <Redirect to={pathOf(request)} replace />
  if (request.status !== 'pending') return <Done request={request} />
  const Card = cards[request.kind] ?? UnknownCard
  return (
    <>
      <Top
        title={kindOf(request)}
        wideTitle={words.askedAgo(kindOf(request), ago(request.created_at, serverNow()))}
        end={<Timer createdAt={request.created_at} expiresAt={request.expires_at} />}
      />
      <Card key={request.id} request={request} />
    </>
  )
}

const icons = { granted: CircleCheck, denied: CircleSlash }
const stayMs = 3000

/** What became of it, by whomever; then on to what waits. */
function Done({ request }: { request: Approval }) {
  const [, navigate] = useLocation()
  const { data: pending } = useQuery(pendingQuery)
  const next = isWide() ? pending?.find(({ id }) => id !== request.id) : undefined
  const path = next ? pathOf(next) : '/'
  useEffect(() => {
    const timer = setTimeout(() => navigate(path, { replace: true }), stayMs)
    return () => clearTimeout(timer)
  }, [navigate, path])
  const Icon = icons[request.status as keyof typeof icons] ?? Clock
  const outcome = outcomeOf(request)
  return (
    <>
      <Top title={kindOf(request)} />
      <div className="done" data-testid="decided-banner" data-state={request.status}>
        <Icon size={44} aria-hidden="true" />
        <Heading className="ask" title={outcome}>
          {outcome}
        </Heading>
        {request.decided_by?.device?.current === false && <p className="quiet">{words.done.elsewhere}</p>}
        {request.deny_reason && (
          <p className="quiet">
            “<Told text={request.deny_reason} />”
          </p>
        )}
        {request.status === 'expired' && (
          <p className="quiet">{request.ask?.withdrawn ? words.done.withdrawn : words.done.expired}</p>
        )}
      </div>
    </>
  )
}
