import {
  Circle,
  CircleDot,
  Coins,
  GitBranch,
  KeyRound,
  Laptop,
  type LucideIcon,
  MessageCircleQuestionMark,
  Moon,
  ScrollText,
  Wrench,
} from 'lucide-react'
import { words } from '../words.ts'
import { sigilOf } from './sigils.ts'

export function Brand({ size = 26 }: { size?: number }) {
  return (
    <svg className="brand-mark" width={size} height={size} viewBox="0 0 26 26" aria-hidden="true">
      <path className="brand-roof" d="M13 1.5 24.5 10v14.5h-23V10z" />
      <path className="brand-door" d="M8 24.5v-8a5 5 0 0 1 10 0v8z" />
      <path className="brand-gap" d="M13 24.5v-6" />
    </svg>
  )
}

export function Sigil({ keyId, size = 40 }: { keyId: number; size?: number }) {
  const { tincture, charge } = sigilOf(keyId)
  return (
    <svg
      className="sigil"
      data-tincture={tincture}
      width={size}
      height={size}
      viewBox="0 0 40 40"
      aria-hidden="true"
    >
      <rect className="field" width="40" height="40" />
      <path className="charge" d={charge} />
    </svg>
  )
}

const kindIcons: Readonly<Record<string, LucideIcon>> = {
  activation: Laptop,
  consent: ScrollText,
  permission: KeyRound,
  workflow: GitBranch,
  budget: Coins,
  tool: Wrench,
  ask: MessageCircleQuestionMark,
}

/** Who asks, with what: the agent's sigil, or an empty place for who has none yet. */
export function Sign({
  keyId,
  kind,
  size = 40,
}: {
  keyId: number | undefined
  kind?: string
  size?: number
}) {
  const Icon = kindIcons[kind ?? ''] ?? MessageCircleQuestionMark
  return (
    <span className="sign">
      {keyId === undefined ? (
        <span className="no-sigil">
          <Icon size={20} aria-hidden="true" />
        </span>
      ) : (
        <Sigil keyId={keyId} size={size} />
      )}
      {kind !== undefined && keyId !== undefined && (
        <span className="sign-kind">
          <Icon size={14} strokeWidth={2.1} aria-hidden="true" />
        </span>
      )}
    </span>
  )
}

const activityIcons: Readonly<Record<string, LucideIcon>> = { ACTIVE: CircleDot, IDLE: Circle, DORMANT: Moon }

export function ActivityPill({ activity }: { activity: string }) {
  const Icon = activityIcons[activity] ?? Circle
  return (
    <span className="pill" data-look={activity === 'ACTIVE' ? 'good' : undefined}>
      <Icon size={14} aria-hidden="true" />
      {words.activity[activity] ?? activity}
    </span>
  )
}
