import type { KeyTouched } from '@guildhall/sdk'
import { NotFoundError } from '@guildhall/sdk/core'
import { useQuery } from '@tanstack/react-query'
import { Link } from 'wouter'
import { serverNow } from '../api/client.ts'
import { touchedQuery } from '../api/queries.ts'
import { Button, Loading, Note } from '../parts/controls.tsx'
import { Sigil } from '../parts/marks.tsx'
import { plainLine } from '../parts/text.ts'
import { ago, amountOf } from '../parts/time.ts'
import { Facts, Told } from '../parts/voices.tsx'
import { touchedWords } from '../safety-words.ts'
import { words } from '../words.ts'
import { Heading } from './heading.tsx'
import { NotFound } from './not-found.tsx'
import { Top } from './top.tsx'

interface EndedAgentProps {
  readonly id: number
  /** What was ended with it, when that was a moment ago. */
  readonly said: string | undefined
}

/** An agent that was revoked: there is nothing left to end, and this is what it left behind. */
export function EndedAgent({ id, said }: EndedAgentProps) {
  const { data: touched, error, refetch } = useQuery(touchedQuery(id))
  if (NotFoundError.is(error)) return <NotFound />
  if (!touched && !error) return <Loading />
  if (!touched)
    return (
      <div className="decision">
        {said && <Note look="good">{said}</Note>}
        <Note look="bad">{words.failed(undefined)}</Note>
        <Button onClick={() => void refetch()}>{words.retry}</Button>
      </div>
    )
  return (
    <>
      <Top title={words.agents} back="/agents" />
      <div className="decision" data-testid="ended-agent">
        <div className="who">
          <Sigil keyId={id} size={52} />
          <Heading className="who-name grow" title={words.agents}>
            {plainLine(touched.key.label)}
          </Heading>
        </div>
        <Note look="good" testId="revoked">
          {said ?? touchedWords.ended}
        </Note>
        <TouchedList touched={touched} />
        <Link className="button section" href="/agents">
          {touchedWords.toAgents}
        </Link>
      </div>
    </>
  )
}

/** The same for one that works. */
export function TouchedSection({ id }: { id: number }) {
  const { data: touched } = useQuery(touchedQuery(id))
  return touched ? <TouchedList touched={touched} /> : null
}

function TouchedList({ touched: { spend, addresses, groups } }: { touched: KeyTouched }) {
  const facts = [
    ...(spend > 0 ? [{ name: touchedWords.spent, value: amountOf(spend) }] : []),
    ...(addresses.length > 0
      ? [{ name: touchedWords.usedFrom, value: addresses.map(({ ip }) => ip).join(', '), isExact: true }]
      : []),
  ]
  return (
    <section className="section" data-testid="touched">
      <div className="section-title">
        <h2>{touchedWords.title}</h2>
      </div>
      {groups.length === 0 && <p className="quiet">{touchedWords.nothing}</p>}
      {facts.length > 0 && <Facts facts={facts} />}
      {groups.map((group) => (
        <TouchedGroup key={group.kind} group={group} />
      ))}
    </section>
  )
}

function TouchedGroup({ group: { kind, count, items } }: { group: KeyTouched['groups'][number] }) {
  return (
    <div className="section" data-testid="touched-group" data-kind={kind}>
      <h3 className="quiet">{touchedWords.group(kind, count)}</h3>
      <ul className="surface rows">
        {items.map(({ id, title, at, undo }) => (
          <li className="row" key={id} data-testid="touched-item">
            <span className="grow">
              <span className="row-title" dir="auto">
                <Told text={title} />
              </span>
              <span className="row-note">
                {ago(at, serverNow())}
                {undo && ` · ${touchedWords.undo[undo] ?? ''}`}
              </span>
            </span>
          </li>
        ))}
        {count > items.length && <li className="row quiet">{touchedWords.more(count - items.length)}</li>}
      </ul>
    </div>
  )
}
