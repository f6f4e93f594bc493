import type { OAuthGrant } from '@guildhall/sdk'
import { NotFoundError } from '@guildhall/sdk/core'
import { useQuery } from '@tanstack/react-query'
import { AppWindow } from 'lucide-react'
import { serverNow } from '../api/client.ts'
import { useLiveState } from '../api/live.ts'
import { grantsQuery, people } from '../api/people.ts'
import { Button, Ghost, Note } from '../parts/controls.tsx'
import { plainLine } from '../parts/text.ts'
import { ago, dateOf } from '../parts/time.ts'
import { Told } from '../parts/voices.tsx'
import { words } from '../words.ts'
import { useActing } from './acting.ts'
import { Heading } from './heading.tsx'
import { Top } from './top.tsx'

const { apps } = words.people

/** Which apps may act for this person, and the end of it in one tap: taking back is the safe act. */
export default function Apps() {
  const { data: grants } = useQuery(grantsQuery)
  const isOffline = useLiveState() === 'offline'
  const { act, isBusy, said } = useActing(['grants'])
  const end = ({ id }: OAuthGrant) =>
    act(async () => {
      // Ended elsewhere meanwhile: that is what was wanted.
      await people.grants.end(String(id)).catch(unlessGone)
      return undefined
    })
  return (
    <>
      <Top title={apps.title} back="/settings" />
      <div className="decision">
        <Heading className="ask" title={apps.title}>
          {apps.title}
        </Heading>
        <p className="quiet">{apps.text}</p>
        {said && <Note look={said.look}>{said.text}</Note>}
        {!grants && <Ghost />}
        {grants?.length === 0 && (
          <p className="section" data-testid="apps-none">
            {apps.none}
          </p>
        )}
        {grants && grants.length > 0 && (
          <ul className="surface section rows">
            {grants.map((grant) => (
              <GrantRow
                key={grant.id}
                grant={grant}
                isDisabled={isBusy || isOffline}
                onEnd={() => void end(grant)}
              />
            ))}
          </ul>
        )}
      </div>
    </>
  )
}

interface GrantRowProps {
  readonly grant: OAuthGrant
  readonly isDisabled: boolean
  readonly onEnd: () => void
}

function GrantRow({ grant, isDisabled, onEnd }: GrantRowProps) {
  const { name, client_id, scopes, workspace, last_used_at, expires_at } = grant
  const used = last_used_at ? apps.lastUsed(ago(last_used_at, serverNow())) : apps.neverUsed
  return (
    <li className="row" data-testid="app-row" data-id={grant.id}>
      <span className="row-icon">
        <AppWindow size={18} aria-hidden="true" />
      </span>
      <span className="grow">
        <span className="row-title">
          <Told text={name} />
        </span>
        <span className="row-note">
          {apps.allowedIn(plainLine(workspace.name ?? words.personal))}, {used},{' '}
          {apps.until(dateOf(expires_at))}
        </span>
        <span className="row-note">
          {apps.asked} <span className="is-exact">{scopes.join(' ')}</span>
        </span>
        <span className="row-note is-exact">
          <Told text={client_id} />
        </span>
      </span>
      <Button
        size="small"
        disabled={isDisabled}
        onClick={onEnd}
        aria-label={apps.endOf(plainLine(name))}
        data-testid="app-end"
      >
        {apps.end}
      </Button>
    </li>
  )
}

function unlessGone(error: unknown): void {
  if (!NotFoundError.is(error)) throw error
}
