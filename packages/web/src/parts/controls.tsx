import { CircleCheck, CircleX, Fingerprint, LoaderCircle, TriangleAlert } from 'lucide-react'
import { type ComponentProps, type ReactNode, useEffect, useRef, useState } from 'react'
import { words } from '../words.ts'
import { Brand } from './marks.tsx'

interface ButtonProps extends ComponentProps<'button'> {
  readonly look?: 'primary' | 'tint' | 'danger' | 'destroy'
  readonly size?: 'small' | 'large'
  readonly icon?: ReactNode
  readonly isBusy?: boolean
}

export function Button({ look, size, icon, isBusy = false, children, disabled, ...rest }: ButtonProps) {
  return (
    <button
      type="button"
      className="button"
      data-look={look}
      data-size={size}
      aria-busy={isBusy || undefined}
      disabled={disabled || isBusy}
      {...rest}
    >
      {isBusy ? <LoaderCircle className="turning" size={18} aria-hidden="true" /> : icon}
      {children}
    </button>
  )
}

const noteIcons = { warn: TriangleAlert, good: CircleCheck, bad: CircleX }

export function Note({
  look,
  children,
  testId,
}: {
  look?: keyof typeof noteIcons
  children: ReactNode
  testId?: string
}) {
  const Icon = look && noteIcons[look]
  return (
    <div className="note" data-look={look} data-testid={testId} role="status">
      {Icon && <Icon size={18} aria-hidden="true" />}
      <div className="grow">{children}</div>
    </div>
  )
}

export function Sensitive({ count }: { count?: number }) {
  return (
    <span className="pill" data-look="seal" data-testid="sensitive">
      <Fingerprint size={14} strokeWidth={2.1} aria-hidden="true" />
      {count === undefined ? words.sensitive : words.sensitiveCount(count)}
    </span>
  )
}

interface ChoiceBarProps<T extends string> {
  readonly name: string
  readonly label: string
  readonly options: readonly { readonly value: T; readonly title: string; readonly means?: string }[]
  readonly value: T
  readonly onChange: (value: T) => void
  readonly testId?: string
}

/** One of a few, as native radio buttons. */
export function ChoiceBar<T extends string>({
  name,
  label,
  options,
  value,
  onChange,
  testId,
}: ChoiceBarProps<T>) {
  return (
    <fieldset className="choice-bar" aria-label={label} data-testid={testId}>
      {options.map((option) => (
        <label key={option.value} data-testid={`mode-${option.value}`}>
          <input
            type="radio"
            name={name}
            checked={option.value === value}
            onChange={() => onChange(option.value)}
            aria-label={option.means ? `${option.title}. ${option.means}` : undefined}
          />
          {option.title}
        </label>
      ))}
    </fieldset>
  )
}

/** A sheet from below on a phone, a dialog on a desktop. */
export function Sheet({
  title,
  onClose,
  children,
  testId,
}: {
  title: string
  onClose: () => void
  children: ReactNode
  testId?: string
}) {
  const dialog = useRef<HTMLDialogElement>(null)
  useEffect(() => dialog.current?.showModal(), [])
  return (
    <dialog className="sheet" ref={dialog} onClose={onClose} aria-label={title} data-testid={testId}>
      <h2>{title}</h2>
      {children}
    </dialog>
  )
}

export function Empty({
  title,
  text,
  children,
  testId,
}: {
  title: string
  text: string
  children?: ReactNode
  testId?: string
}) {
  return (
    <div className="surface empty" data-testid={testId}>
      <Brand size={50} />
      <h2>{title}</h2>
      <p>{text}</p>
      {children}
    </div>
  )
}

/** A page that is under way has a title too. */
export function Loading() {
  return (
    <>
      <h1 className="unseen">{words.loading}</h1>
      <Ghost count={1} />
    </>
  )
}

/** Nothing at first: what comes at once needs no placeholder. */
export function Ghost({ count = 3 }: { count?: number }) {
  const [isShown, setShown] = useState(false)
  useEffect(() => {
    const timer = setTimeout(() => setShown(true), 150)
    return () => clearTimeout(timer)
  }, [])
  if (!isShown) return null
  return (
    <div className="requests" role="status" aria-label={words.loading}>
      {Array.from({ length: count }, (_, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: placeholders are all alike
        <div key={index} className="surface request">
          <div className="ghost-line" />
          <div className="ghost-line" />
          <div className="ghost-line" />
        </div>
      ))}
    </div>
  )
}
