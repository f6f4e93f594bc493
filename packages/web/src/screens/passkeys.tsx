import type { Passkey } from '@guildhall/sdk'
import { ApiError } from '@guildhall/sdk/core'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Fingerprint } from 'lucide-react'
import { useState } from 'react'
import { useLocation, useSearchParams } from 'wouter'
import { api, serverNow } from '../api/client.ts'
import { passkeysQuery } from '../api/queries.ts'
import { Button, Ghost, Note } from '../parts/controls.tsx'
import { ago } from '../parts/time.ts'
import { Told } from '../parts/voices.tsx'
import { words } from '../words.ts'
import { Heading } from './heading.tsx'
import { type Code, LostPasskeys, signedFor } from './lost-passkeys.tsx'
import { PasskeyError } from './passkey-error.ts'
import { sentenceOf } from './problems.ts'
import { ownPath, signInPath } from './sign-in.tsx'
import { Top } from './top.tsx'

/** The person's passkeys. The first needs a sign-in that is just over, each further one a passkey that is there. */
export default function Passkeys() {
  const queries = useQueryClient()
  const [query] = useSearchParams()
  const [path, navigate] = useLocation()
  const { data: passkeys } = useQuery(passkeysQuery)
  const [isBusy, setBusy] = useState(false)
  const [said, setSaid] = useState<{ look: 'good' | 'bad'; text: string }>()
  const [isTooOld, setTooOld] = useState(false)
  const back = query.get('return')

  async function act(work: () => Promise<string>): Promise<boolean> {
    setBusy(true)
    setSaid(undefined)
    setTooOld(false)
    let isDone = false
    try {
      setSaid({ look: 'good', text: await work() })
      await queries.invalidateQueries({ queryKey: ['passkeys'] })
      isDone = true
    } catch (error) {
      if (isSignInTooOld(error)) setTooOld(true)
      else setSaid({ look: 'bad', text: told(error) })
    }
    setBusy(false)
    return isDone
  }

  async function add(code?: Code): Promise<boolean> {
    const isDone = await act(async () => {
      const [{ registration, assertion }, { assertPasskey, makePasskey }] = await Promise.all([
        api.passkeys.prepare({}),
        import('./passkey.ts'),
      ])
      const proof = code ?? (assertion ? { device_auth: await assertPasskey(assertion) } : {})
      const credential = await makePasskey(registration)
      await api.passkeys.create({ name: words.passkeyName, credential, ...proof })
      return words.passkeyAdded
    })
    if (isDone && back) navigate(ownPath(back), { replace: true })
    return isDone
  }

  const remove = ({ id }: Passkey) =>
    act(async () => {
      await api.passkeys.remove(id, await signedFor({ purpose: 'remove', passkeyId: id }))
      return ''
    })

  const here = back ? `${path}?return=${encodeURIComponent(ownPath(back))}` : path
  return (
    <>
      <Top title={words.passkeys} back="/settings" />
      <div className="decision">
        <Heading className="ask" title={words.passkeys}>
          {words.passkeys}
        </Heading>
        <p className="quiet">{words.passkeysText}</p>
        {said?.text && (
          <Note look={said.look} testId="passkey-said">
            {said.text}
          </Note>
        )}
        {!passkeys && <Ghost />}
        {passkeys?.length === 0 && <Note look="warn">{words.passkeysNone}</Note>}
        {isTooOld && (
          <Note look="warn" testId="sign-in-again">
            {words.passkeyFresh}{' '}
            <a className="text-link" href={signInPath(undefined, here, true)}>
              {words.signInAgain}
            </a>
          </Note>
        )}
        {passkeys && passkeys.length > 0 && (
          <ul className="surface section rows">
            {passkeys.map((passkey) => (
              <li className="row" key={passkey.id} data-testid="passkey-row">
                <span className="row-icon">
                  <Fingerprint size={18} aria-hidden="true" />
                </span>
                <span className="grow">
                  <span className="row-title">
                    <Told text={passkey.name} />
                  </span>
                  <span className="row-note">
                    {passkey.backedUp ? words.passkeySynced : words.passkeyLocal},{' '}
                    {passkey.lastUsedAt
                      ? words.passkeyUsed(ago(passkey.lastUsedAt, serverNow()))
                      : words.passkeyUnused}
                  </span>
                </span>
                <Button size="small" disabled={isBusy} onClick={() => void remove(passkey)}>
                  {words.remove}
                </Button>
              </li>
            ))}
          </ul>
        )}
        <div className="section">
          <Button
            look="primary"
            size="large"
            isBusy={isBusy}
            onClick={() => void add()}
            data-testid="passkey-add"
          >
            {words.passkeyAdd}
          </Button>
        </div>
        {passkeys && passkeys.length > 0 && <LostPasskeys isBusy={isBusy} act={act} addHere={add} />}
      </div>
    </>
  )
}

const isSignInTooOld = (error: unknown) =>
  ApiError.is(error) && error.status === 403 && error.details['reason'] === 'SIGN_IN_TOO_OLD'

function told(error: unknown): string {
  if (error instanceof PasskeyError && error.reason === 'canceled') return words.passkeyCanceled
  return sentenceOf(error)
}
