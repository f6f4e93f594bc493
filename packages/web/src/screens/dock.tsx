import { Fingerprint } from 'lucide-react'
import { type ReactNode, useState } from 'react'
import { Link } from 'wouter'
import { Button, Note, Sheet } from '../parts/controls.tsx'
import { words } from '../words.ts'
import type { Deciding } from './deciding.ts'

interface DockProps {
  readonly name: string
  readonly deciding: Deciding
  readonly allowLabel?: string | undefined
  readonly canAllow?: boolean
  readonly needsPasskey?: boolean
  readonly denyLabel?: string
  /** Where the person comes back to with a new passkey. */
  readonly path: string
  readonly note?: ReactNode
  readonly children?: ReactNode
  readonly hasReason?: boolean
  readonly canDeny?: boolean
}

/** The two buttons, always in the same places, after everything that is to be read. */
export function Dock(props: DockProps) {
  const { name, deciding, allowLabel, canAllow = true, needsPasskey = false, denyLabel = words.deny } = props
  const { path, note, children, hasReason = true, canDeny = true } = props
  const [isGivingReason, setGivingReason] = useState(false)
  const { state, problem, lacksPasskey } = deciding
  const isReady = state === 'ready'
  return (
    <section className="dock" aria-label={name} data-testid="dock" data-state={state}>
      <div className="dock-inner">
        {state === 'expired' && <Note look="warn">{words.done.expired}</Note>}
        {problem && (
          <Note look="bad" testId="problem">
            {problem}
          </Note>
        )}
        {lacksPasskey && (
          <Note look="warn" testId="no-passkey">
            {words.passkey.none}{' '}
            <Link className="text-link" href={`/settings/passkeys?return=${encodeURIComponent(path)}`}>
              {words.passkey.add}
            </Link>
          </Note>
        )}
        {children}
        {note && <p className="dock-note">{note}</p>}
        <div className="dock-acts">
          {canDeny && (
            <Button size="large" data-testid="deny" disabled={!isReady} onClick={() => deciding.deny()}>
              {denyLabel}
            </Button>
          )}
          {allowLabel !== undefined && (
            <Button
              look="primary"
              size="large"
              data-testid="allow"
              disabled={!isReady || !canAllow || lacksPasskey}
              isBusy={state === 'sending'}
              icon={needsPasskey && <Fingerprint size={20} aria-hidden="true" />}
              onClick={deciding.allow}
            >
              {allowLabel}
            </Button>
          )}
        </div>
        {hasReason && canDeny && (
          <p className="dock-note">
            <button
              type="button"
              className="text-link"
              data-testid="deny-reason-open"
              disabled={!isReady}
              onClick={() => setGivingReason(true)}
            >
              {words.denyWithReason}
            </button>
          </p>
        )}
      </div>
      {isGivingReason && (
        <ReasonSheet
          onClose={() => setGivingReason(false)}
          onDeny={(reason) => {
            setGivingReason(false)
            deciding.deny(reason)
          }}
        />
      )}
    </section>
  )
}

function ReasonSheet({ onClose, onDeny }: { onClose: () => void; onDeny: (reason: string) => void }) {
  const [text, setText] = useState('')
  return (
    <Sheet title={words.reasonTitle} onClose={onClose} testId="reason-sheet">
      <p>{words.reasonText}</p>
      <div className="sheet-acts">
        {words.reasons.map((reason) => (
          <Button key={reason} onClick={() => onDeny(reason)}>
            {reason}
          </Button>
        ))}
        <label>
          <span className="field-label">{words.reasonLabel}</span>
          <textarea
            className="input"
            maxLength={500}
            value={text}
            onChange={(event) => setText(event.target.value)}
            data-testid="deny-reason-text"
          />
        </label>
        <Button
          size="large"
          disabled={text.trim() === ''}
          onClick={() => onDeny(text.trim())}
          data-testid="deny-reason-send"
        >
          {words.deny}
        </Button>
        <Button onClick={onClose}>{words.cancel}</Button>
      </div>
    </Sheet>
  )
}
