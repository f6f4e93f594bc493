import type { Invitation } from '@guildhall/sdk'
import { NotFoundError } from '@guildhall/sdk/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { invitedQuery, people } from '../api/people.ts'
import { Button, ChoiceBar, Ghost, Note } from '../parts/controls.tsx'
import { plainLine } from '../parts/text.ts'
import { dateOf } from '../parts/time.ts'
import { Told } from '../parts/voices.tsx'
import { words } from '../words.ts'
import { useActing } from './acting.ts'
import { sentenceOf } from './problems.ts'

const { inviting: texts, invitations, roles, roleMeans } = words.people
const choices = ['member', 'owner'] as const

interface InvitingProps {
  readonly workspaceId: string
  readonly isOffline: boolean
}

/** For owners: who is asked to come, and whoever was asked and has not answered. */
export function Inviting({ workspaceId, isOffline }: InvitingProps) {
  const { data: invited } = useQuery(invitedQuery(workspaceId))
  const { act, isBusy, said } = useActing(['invitations', 'sent', workspaceId], problemOf)
  const [email, setEmail] = useState('')
  const [role, setRole] = useState<(typeof choices)[number]>('member')

  async function invite(): Promise<void> {
    const isDone = await act(async () => {
      const sent = await people.members.invite({ email: email.trim(), role }, { workspaceId })
      return texts.sent(plainLine(sent.email))
    })
    if (!isDone) return
    setEmail('')
    setRole('member')
  }
  const withdraw = (invitation: Invitation) =>
    void act(async () => {
      await people.members.withdraw(invitation.id, { workspaceId })
      return texts.withdrawn(plainLine(invitation.email))
    })

  return (
    <>
      <div className="section section-title">
        <h2>{texts.title}</h2>
      </div>
      {said && (
        <Note look={said.look} testId="inviting-said">
          {said.text}
        </Note>
      )}
      <form
        onSubmit={(event) => {
          event.preventDefault()
          void invite()
        }}
      >
        <label className="field">
          <span className="field-label">{texts.address}</span>
          <input
            className="input"
            type="email"
            autoComplete="off"
            required
            maxLength={320}
            value={email}
            onChange={({ target }) => setEmail(target.value)}
            data-testid="invite-address"
          />
        </label>
        <div className="field">
          <span className="field-label">{texts.role}</span>
          <ChoiceBar
            name="role"
            label={texts.role}
            options={choices.map((value) => ({
              value,
              title: roles[value] ?? value,
              means: roleMeans[value] ?? '',
            }))}
            value={role}
            onChange={setRole}
          />
          <p className="quiet small">{roleMeans[role]}</p>
        </div>
        <Button
          type="submit"
          look="primary"
          isBusy={isBusy}
          disabled={isOffline || email.trim() === ''}
          data-testid="invite"
        >
          {texts.send}
        </Button>
      </form>
      <div className="section section-title">
        <h2>{texts.waiting}</h2>
      </div>
      {!invited && <Ghost count={1} />}
      {invited?.length === 0 && (
        <p className="quiet" data-testid="invited-none">
          {texts.none}
        </p>
      )}
      {invited && invited.length > 0 && (
        <ul className="surface rows">
          {invited.map((invitation) => (
            <li className="row" key={invitation.id} data-testid="invited-row">
              <span className="grow">
                <span className="row-title">
                  <Told text={invitation.email} />
                </span>
                <span className="row-note">
                  {roles[invitation.role] ?? invitation.role}, {texts.until(dateOf(invitation.expiresAt))}
                </span>
              </span>
              <Button
                size="small"
                disabled={isBusy || isOffline}
                onClick={() => withdraw(invitation)}
                aria-label={texts.withdrawOf(plainLine(invitation.email))}
                data-testid="withdraw"
              >
                {texts.withdraw}
              </Button>
            </li>
          ))}
        </ul>
      )}
    </>
  )
}

const problemOf = (error: unknown) => (NotFoundError.is(error) ? invitations.over : sentenceOf(error))
