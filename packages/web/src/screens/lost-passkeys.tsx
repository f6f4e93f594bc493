import { useQuery } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { api } from '../api/client.ts'
import { passkeyRecoveryQuery } from '../api/queries.ts'
import { Button, Note, Sheet } from '../parts/controls.tsx'
import { clockOf, dateOf } from '../parts/time.ts'
import { lostWords as texts } from '../safety-words.ts'
import { words } from '../words.ts'

/** What stands for a passkey that is there when one is added on this device. */
export type Code = { readonly invite: string } | { readonly recovery_code: string }

interface LostPasskeysProps {
  readonly isBusy: boolean
  /** Does one thing and tells what came of it; gives whether it was done. */
  act(work: () => Promise<string>): Promise<boolean>
  addHere(code: Code): Promise<boolean>
}

/** A passkey's signature for exactly this. */
export async function signedFor(purpose: Parameters<typeof api.passkeys.prepare>[0]) {
  const [{ assertion }, { assertPasskey }] = await Promise.all([
    api.passkeys.prepare(purpose),
    import('./passkey.ts'),
  ])
  return { device_auth: await assertPasskey(assertion) }
}

/** For who has a passkey elsewhere, and for who has lost it. */
export function LostPasskeys({ isBusy, act, addHere }: LostPasskeysProps) {
  const { data: recovery } = useQuery(passkeyRecoveryQuery)
  const [invitation, setInvitation] = useState<Awaited<ReturnType<typeof api.passkeys.invite>>>()
  const [codes, setCodes] = useState<readonly string[]>()
  const [isAsking, setAsking] = useState(false)

  const invite = () =>
    act(async () => {
      setInvitation(await api.passkeys.invite(await signedFor({ purpose: 'invite' })))
      return ''
    })
  const makeCodes = () =>
    act(async () => {
      const made = await api.passkeys.createRecoveryCodes(await signedFor({ purpose: 'recovery-codes' }))
      setCodes(made.codes)
      return ''
    })
  const reset = () =>
    act(async () => {
      setAsking(false)
      await api.passkeys.reset()
      return ''
    })
  const stop = () =>
    act(async () => {
      await api.passkeys.cancelReset(await signedFor({ purpose: 'cancel-reset' }))
      return texts.resetStopped
    })

  return (
    <>
      {recovery?.reset && (
        <Note look="warn" testId="reset-under-way">
          {texts.resetUnderWay(dateOf(recovery.reset.effective_at))}{' '}
          <Button size="small" disabled={isBusy} onClick={() => void stop()} data-testid="reset-stop">
            {texts.resetStop}
          </Button>
        </Note>
      )}
      <Part title={texts.otherDevice} text={texts.otherDeviceText}>
        {invitation && (
          <p>
            {texts.codeMade(clockOf(invitation.expires_at))}{' '}
            <strong className="own-code" data-testid="invite-code">
              {invitation.code}
            </strong>
          </p>
        )}
        <Button disabled={isBusy} onClick={() => void invite()} data-testid="invite-device">
          {texts.makeCode}
        </Button>
      </Part>
      <Part title={texts.haveCode} text={texts.haveCodeText}>
        <CodeForm isBusy={isBusy} addHere={addHere} />
      </Part>
      <Part title={texts.recovery} text={texts.recoveryText(recovery?.codes_left ?? 0)}>
        {codes && (
          <>
            <Note look="warn">{texts.codesMade}</Note>
            <ul className="surface section rows">
              {codes.map((code) => (
                <li className="row own-code" key={code} data-testid="recovery-code">
                  {code}
                </li>
              ))}
            </ul>
          </>
        )}
        <Button disabled={isBusy} onClick={() => void makeCodes()} data-testid="make-codes">
          {texts.makeCodes}
        </Button>
      </Part>
      {recovery && !recovery.reset && (
        <Part title={texts.allLost} text={texts.allLostText}>
          <Button look="destroy" disabled={isBusy} onClick={() => setAsking(true)} data-testid="reset">
            {texts.reset}
          </Button>
        </Part>
      )}
      {isAsking && (
        <Sheet title={texts.resetTitle} onClose={() => setAsking(false)} testId="reset-sheet">
          <p>{texts.resetConfirmText}</p>
          <div className="sheet-acts">
            <Button look="destroy" size="large" onClick={() => void reset()} data-testid="reset-confirm">
              {texts.reset}
            </Button>
            <Button onClick={() => setAsking(false)}>{words.keep}</Button>
          </div>
        </Sheet>
      )}
    </>
  )
}

function CodeForm({ isBusy, addHere }: Pick<LostPasskeysProps, 'isBusy' | 'addHere'>) {
  const [typed, setTyped] = useState('')
  const code = typed.trim()
  // A code of another device has eight letters and digits, a recovery code sixteen.
  const given = code.length < 12 ? { invite: code } : { recovery_code: code }
  async function add(): Promise<void> {
    if (await addHere(given)) setTyped('')
  }
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        void add()
      }}
    >
      <label className="field">
        <span className="field-label">{texts.code}</span>
        <input
          className="input"
          autoComplete="off"
          autoCapitalize="characters"
          spellCheck={false}
          required
          maxLength={40}
          value={typed}
          onChange={({ target }) => setTyped(target.value)}
          data-testid="passkey-code"
        />
      </label>
      <Button type="submit" disabled={isBusy} data-testid="add-with-code">
        {texts.addWithCode}
      </Button>
    </form>
  )
}

function Part({ title, text, children }: { title: string; text: string; children: ReactNode }) {
  return (
    <section className="section">
      <div className="section-title">
        <h2>{title}</h2>
      </div>
      <p className="quiet">{text}</p>
      {children}
    </section>
  )
}
