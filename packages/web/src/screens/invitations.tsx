import type { ReceivedInvitation, WorkspaceRef } from '@guildhall/sdk'
import { NotFoundError } from '@guildhall/sdk/core'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api } from '../api/client.ts'
import { useLiveState } from '../api/live.ts'
import { people, receivedQuery } from '../api/people.ts'
import { Button, Empty, Ghost, Note } from '../parts/controls.tsx'
import { plainLine } from '../parts/text.ts'
import { dateOf } from '../parts/time.ts'
import { Facts, Told } from '../parts/voices.tsx'
import { words } from '../words.ts'
import { useActing } from './acting.ts'
import { useGuard } from './guard.ts'
import { Heading } from './heading.tsx'
import { sentenceOf } from './problems.ts'
import { Top } from './top.tsx'

const { invitations: texts, roles, roleMeans } = words.people

/** What this person was invited to. Nobody joins but by a tap on a page that has stood still. */
export default function Invitations() {
  const queries = useQueryClient()
  const { data: received } = useQuery(receivedQuery)
  const isOffline = useLiveState() === 'offline'
  const { act, isBusy, said } = useActing(['invitations'], problemOf)
  const [joined, setJoined] = useState<WorkspaceRef>()
  const counts = useGuard(received?.map(({ id, role }) => id + role).join() ?? '')

  const accept = ({ id, workspace }: ReceivedInvitation) => {
    if (!counts()) return
    void act(async () => {
      const answer = await people.invitations.accept(id)
      setJoined(answer.workspace)
      await queries.invalidateQueries({ queryKey: ['session'] })
      return texts.joined(nameOf(workspace))
    })
  }
  const decline = ({ id, workspace }: ReceivedInvitation) =>
    void act(async () => {
      setJoined(undefined)
      await people.invitations.decline(id)
      return texts.declined(nameOf(workspace))
    })
  const goThere = ({ id }: WorkspaceRef) =>
    void act(async () => {
      await api.workspaces.setCurrent({ workspaceId: id })
      setJoined(undefined)
      await queries.invalidateQueries()
      return undefined
    })

  return (
    <>
      <Top title={texts.title} back="/settings" />
      <div className="decision">
        <Heading className="ask" title={texts.title}>
          {texts.title}
        </Heading>
        <p className="quiet">{texts.text}</p>
        {said && (
          <Note look={said.look} testId="invitation-said">
            {said.text}
          </Note>
        )}
        {joined && (
          <div className="section">
            <Button look="primary" disabled={isBusy} onClick={() => goThere(joined)} data-testid="go-there">
              {texts.goThere}
            </Button>
          </div>
        )}
        {!received && <Ghost count={1} />}
        {received?.length === 0 && !said && (
          <div className="section">
            <Empty title={texts.none} text={texts.noneText} testId="invitations-none" />
          </div>
        )}
        {received?.map((invitation) => (
          <Card
            key={invitation.id}
            invitation={invitation}
            isDisabled={isBusy || isOffline}
            onAccept={() => accept(invitation)}
            onDecline={() => decline(invitation)}
          />
        ))}
      </div>
    </>
  )
}

interface CardProps {
  readonly invitation: ReceivedInvitation
  readonly isDisabled: boolean
  readonly onAccept: () => void
  readonly onDecline: () => void
}

function Card({ invitation, isDisabled, onAccept, onDecline }: CardProps) {
  const { workspace, invitedBy, role, expiresAt } = invitation
  const name = nameOf(workspace)
  const inviter = [invitedBy.name, invitedBy.email].filter((part) => part !== null).join(' · ')
  return (
    <section className="section" aria-label={name} data-testid="invitation" data-id={invitation.id}>
      <div className="section-title">
        <h2>
          <Told text={workspace.name ?? texts.unnamedWorkspace} />
        </h2>
      </div>
      <Facts
        facts={[
          { name: texts.by, value: <Told text={inviter} />, testId: 'invited-by' },
          { name: texts.as, value: `${roles[role] ?? role}. ${roleMeans[role] ?? ''}`, testId: 'invited-as' },
          { name: texts.until, value: dateOf(expiresAt) },
        ]}
      />
      <div className="request-acts">
        <Button
          disabled={isDisabled}
          onClick={onDecline}
          aria-label={texts.declineOf(name)}
          data-testid="decline"
        >
          {texts.decline}
        </Button>
        <Button
          look="primary"
          disabled={isDisabled}
          onClick={onAccept}
          aria-label={texts.acceptOf(name)}
          data-testid="accept"
        >
          {texts.accept}
        </Button>
      </div>
    </section>
  )
}

const nameOf = ({ name }: { name: string | null }) => plainLine(name ?? texts.unnamedWorkspace)

const problemOf = (error: unknown) => (NotFoundError.is(error) ? texts.over : sentenceOf(error))
