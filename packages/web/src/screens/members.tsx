import type { CurrentSession, Member } from '@guildhall/sdk'
import { ForbiddenError } from '@guildhall/sdk/core'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api } from '../api/client.ts'
import { useLiveState } from '../api/live.ts'
import { membersQuery, people } from '../api/people.ts'
import { Button, Ghost, Note, Sheet } from '../parts/controls.tsx'
import { plainLine } from '../parts/text.ts'
import { dateOf } from '../parts/time.ts'
import { Told } from '../parts/voices.tsx'
import { words } from '../words.ts'
import { useActing } from './acting.ts'
import { Heading } from './heading.tsx'
import { Inviting } from './inviting.tsx'
import { Top } from './top.tsx'

const { members: texts, roles } = words.people

/** Who belongs to the workspace that the person works in now, and for owners how that changes. */
export default function Members({ session }: { session: CurrentSession }) {
  const workspace = session.workspaces.find(({ id }) => id === session.current_workspace_id)
  const name = plainLine(workspace?.name ?? words.personal)
  return (
    <>
      <Top title={texts.title} back="/settings" />
      <div className="decision">
        <Heading className="ask" title={texts.title}>
          {texts.title}
        </Heading>
        <p className="quiet" data-testid="members-of">
          {name}
        </p>
        {workspace?.kind === 'team' ? (
          <Team
            key={workspace.id}
            workspaceId={workspace.id}
            name={name}
            isOwner={workspace.role === 'owner'}
            ownId={session.user.id}
          />
        ) : (
          <NoTeam />
        )}
      </div>
    </>
  )
}

interface TeamProps {
  readonly workspaceId: string
  readonly name: string
  readonly isOwner: boolean
  readonly ownId: string
}

function Team({ workspaceId, name, isOwner, ownId }: TeamProps) {
  const queries = useQueryClient()
  const { data: members, error } = useQuery(membersQuery(workspaceId))
  const isOffline = useLiveState() === 'offline'
  const { act, isBusy, said } = useActing(['members', workspaceId])
  const [leaving, setLeaving] = useState<Member>()

  const remove = (member: Member) => {
    setLeaving(undefined)
    void act(async () => {
      await people.members.remove(member.userId, { workspaceId })
      if (member.userId === ownId) await queries.invalidateQueries({ queryKey: ['session'] })
      return texts.removed(nameOf(member))
    })
  }

  if (ForbiddenError.is(error)) return <Note look="warn">{texts.gone}</Note>
  const isOwn = leaving?.userId === ownId
  return (
    <>
      {said && (
        <Note look={said.look} testId="members-said">
          {said.text}
        </Note>
      )}
      {!members && <Ghost />}
      {members && (
        <ul className="surface section rows">
          {members.map((member) => (
            <li className="row" key={member.userId} data-testid="member-row" data-id={member.userId}>
              <span className="grow">
                <span className="row-title">
                  <Told text={member.name ?? member.email ?? texts.unnamed} />
                </span>
                <span className="row-note">
                  {roles[member.role] ?? member.role}
                  {member.userId === ownId && `, ${texts.you}`}, {texts.since(dateOf(member.joinedAt))}
                </span>
                {member.name !== null && member.email !== null && (
                  <span className="row-note">
                    <Told text={member.email} />
                  </span>
                )}
              </span>
              {(isOwner || member.userId === ownId) && (
                <Button
                  size="small"
                  disabled={isBusy || isOffline}
                  onClick={() => setLeaving(member)}
                  aria-label={member.userId === ownId ? texts.leave : texts.removeOf(nameOf(member))}
                  data-testid="member-remove"
                >
                  {member.userId === ownId ? texts.leave : texts.remove}
                </Button>
              )}
            </li>
          ))}
        </ul>
      )}
      {isOwner && <Inviting workspaceId={workspaceId} isOffline={isOffline} />}
      {leaving && (
        <Sheet
          title={isOwn ? texts.leaveTitle(name) : texts.removeTitle(nameOf(leaving))}
          onClose={() => setLeaving(undefined)}
          testId="remove-sheet"
        >
          <p>{isOwn ? texts.leaveText : texts.removeText}</p>
          <div className="sheet-acts">
            <Button
              look="destroy"
              size="large"
              disabled={isOffline}
              onClick={() => remove(leaving)}
              data-testid="remove-confirm"
            >
              {isOwn ? texts.leave : texts.remove}
            </Button>
            <Button onClick={() => setLeaving(undefined)}>{words.keep}</Button>
          </div>
        </Sheet>
      )}
    </>
  )
}

/** Nobody else comes into a personal workspace, so this is where a team begins. */
function NoTeam() {
  const queries = useQueryClient()
  const isOffline = useLiveState() === 'offline'
  const { act, isBusy, said } = useActing(['session'])
  const [name, setName] = useState('')
  const make = () =>
    void act(async () => {
      const { id: workspaceId } = await api.workspaces.create({ name: name.trim() })
      await api.workspaces.setCurrent({ workspaceId })
      await queries.invalidateQueries()
      return undefined
    })
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        make()
      }}
    >
      <p className="section">{texts.personal}</p>
      <p>{texts.personalNext}</p>
      {said && <Note look={said.look}>{said.text}</Note>}
      <label className="section field">
        <span className="field-label">{texts.teamName}</span>
        <input
          className="input"
          value={name}
          maxLength={120}
          onChange={({ target }) => setName(target.value)}
          data-testid="team-name"
        />
      </label>
      <div className="section">
        <Button
          type="submit"
          look="primary"
          isBusy={isBusy}
          disabled={isOffline || name.trim() === ''}
          data-testid="team-make"
        >
          {texts.makeTeam}
        </Button>
      </div>
    </form>
  )
}

const nameOf = ({ name, email }: Member) => plainLine(name ?? email ?? texts.unnamed)
