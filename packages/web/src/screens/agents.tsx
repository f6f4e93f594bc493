import type { Key } from '@guildhall/sdk'
import { useQuery } from '@tanstack/react-query'
import { ListChecks, Plus } from 'lucide-react'
import { useState } from 'react'
import { Link } from 'wouter'
import { serverNow } from '../api/client.ts'
import { keysQuery } from '../api/queries.ts'
import { Button, Empty, Ghost, Note } from '../parts/controls.tsx'
import { ActivityPill, Sigil } from '../parts/marks.tsx'
import { plainLine } from '../parts/text.ts'
import { ago, amountOf } from '../parts/time.ts'
import { words } from '../words.ts'
import { Agent } from './agent.tsx'
import { Heading } from './heading.tsx'
import { RevokeSeveral } from './revoke-sheets.tsx'

export default function Agents({ keyId }: { keyId?: number | undefined }) {
  const [said, setSaid] = useState<string>()
  return (
    <div className="split">
      <section className={keyId === undefined ? 'pane-list' : 'pane-list only-wide'}>
        <AgentList keyId={keyId} said={said} onRevoked={setSaid} />
      </section>
      {keyId !== undefined && (
        <section className="pane-detail">
          <Agent key={keyId} id={keyId} />
        </section>
      )}
    </div>
  )
}

interface AgentListProps {
  readonly keyId: number | undefined
  readonly said: string | undefined
  readonly onRevoked: (said: string) => void
}

function AgentList({ keyId, said, onRevoked }: AgentListProps) {
  const { data: keys } = useQuery(keysQuery)
  /** Undefined while nothing is chosen, and a tap opens an agent. */
  const [chosen, setChosen] = useState<ReadonlySet<number>>()
  const [isRevoking, setRevoking] = useState<'chosen' | 'dormant'>()
  const dormant = keys?.filter(({ activity }) => activity === 'DORMANT').length ?? 0
  const count = keys?.filter(({ id }) => chosen?.has(id)).length ?? 0

  function toggle(id: number): void {
    const next = new Set(chosen)
    if (!next.delete(id)) next.add(id)
    setChosen(next)
  }
  function close(done?: string): void {
    setRevoking(undefined)
    if (done === undefined) return
    setChosen(undefined)
    onRevoked(done)
  }

  return (
    <>
      <div className="head">
        <div className="grow">
          {keyId === undefined ? (
            <Heading className="page-title" title={words.agents}>
              {words.agents}
            </Heading>
          ) : (
            <div className="page-title">{words.agents}</div>
          )}
          {keys && <p>{words.agentsHead(keys.length, spentToday(keys))}</p>}
        </div>
        {keys && keys.length > 1 && (
          <Button
            size="small"
            aria-pressed={chosen !== undefined}
            icon={<ListChecks size={16} aria-hidden="true" />}
            onClick={() => setChosen(chosen ? undefined : new Set())}
            data-testid="agents-select"
          >
            {words.select}
          </Button>
        )}
        <Link className="button" data-size="small" href="/pair">
          <Plus size={16} aria-hidden="true" />
          {words.pair}
        </Link>
      </div>
      <div className="requests">
        {said && (
          <Note look="good" testId="revoked">
            {said}
          </Note>
        )}
        {chosen && (
          <div className="chosen-acts">
            <Button
              look="danger"
              disabled={count === 0}
              onClick={() => setRevoking('chosen')}
              data-testid="revoke-chosen"
            >
              {words.revokeChosen(count)}
            </Button>
            <Button onClick={() => setChosen(new Set(keys?.map(({ id }) => id)))} data-testid="choose-all">
              {words.chooseAll}
            </Button>
          </div>
        )}
        {!keys && <Ghost />}
        {keys?.length === 0 && <Empty {...words.agentsEmpty} />}
        {keys && keys.length > 0 && (
          <ul className="surface rows">
            {keys.map((key) => (
              <li key={key.id}>
                {chosen ? (
                  <ChoosableRow agent={key} isChosen={chosen.has(key.id)} onToggle={() => toggle(key.id)} />
                ) : (
                  <AgentRow agent={key} isSelected={key.id === keyId} />
                )}
              </li>
            ))}
          </ul>
        )}
        {dormant > 0 && (
          <p className="quiet">
            {words.dormantMeans}{' '}
            <button
              type="button"
              className="text-button"
              onClick={() => setRevoking('dormant')}
              data-testid="revoke-dormant"
            >
              {words.revokeDormant(dormant)}
            </button>
          </p>
        )}
      </div>
      {isRevoking && (
        <RevokeSeveral
          which={isRevoking === 'dormant' ? 'dormant' : [...(chosen ?? [])]}
          count={isRevoking === 'dormant' ? dormant : count}
          onClose={close}
        />
      )}
    </>
  )
}

const usedAt = (key: Key) => (key.lastUsedAt ? ago(key.lastUsedAt, serverNow()) : words.never)

const spentToday = (keys: readonly Key[]) =>
  words.amountToday(amountOf(keys.reduce((sum, { spend }) => sum + spend.today, 0)))

function AgentRow({ agent, isSelected }: { agent: Key; isSelected: boolean }) {
  return (
    <Link
      className="row"
      href={`/agents/${agent.id}`}
      aria-current={isSelected ? 'page' : undefined}
      data-testid="agent-row"
      data-activity={agent.activity}
    >
      <RowContent agent={agent} />
    </Link>
  )
}

interface ChoosableRowProps {
  readonly agent: Key
  readonly isChosen: boolean
  readonly onToggle: () => void
}

function ChoosableRow({ agent, isChosen, onToggle }: ChoosableRowProps) {
  return (
    <label className="row choosable" data-testid="agent-choose" data-id={agent.id}>
      <input type="checkbox" checked={isChosen} onChange={onToggle} />
      <RowContent agent={agent} />
    </label>
  )
}

function RowContent({ agent }: { agent: Key }) {
  return (
    <>
      <Sigil keyId={agent.id} />
      <span className="grow">
        <span className="row-title">{plainLine(agent.label)}</span>
        <span className="row-note">
          {agent.workspace.name ?? words.personal} · {usedAt(agent)}
        </span>
      </span>
      <span className="row-end">
        <ActivityPill activity={agent.activity} />
        <span data-testid="row-spent">{spentToday([agent])}</span>
      </span>
    </>
  )
}
