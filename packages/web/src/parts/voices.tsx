import { SquareTerminal } from 'lucide-react'
import { Fragment, type ReactNode } from 'react'
import { words } from '../words.ts'
import { Note } from './controls.tsx'
import { type Line, linesShown } from './lines.ts'
import { hasStrange, piecesOf } from './text.ts'

/** Somebody else's text, with a mark for everything in it that hides. */
export function Told({ text }: { text: string }) {
  return piecesOf(text).map((piece, index) =>
    'text' in piece ? (
      // biome-ignore lint/suspicious/noArrayIndexKey: the pieces of one text never move
      <Fragment key={index}>{piece.text}</Fragment>
    ) : (
      // biome-ignore lint/suspicious/noArrayIndexKey: the pieces of one text never move
      <span key={index} className="strange">
        {piece.strange}
      </span>
    ),
  )
}

/** What the agent says, and that it is the agent who says it. */
export function Claim({ text, caption, testId }: { text: string; caption: string; testId?: string }) {
  return (
    <figure className="claim" data-testid={testId}>
      <blockquote dir="auto">
        <Told text={text} />
      </blockquote>
      <figcaption>{caption}</figcaption>
      {hasStrange(text) && <Note look="warn">{words.strange}</Note>}
    </figure>
  )
}

interface ExactProps {
  readonly title?: string | undefined
  readonly said?: string | undefined
  /** One block of lines after the other, as many as fit folded. */
  readonly blocks: readonly { readonly testId: string; readonly lines: readonly Line[] }[]
  readonly isWhole: boolean
  readonly onShowAll: () => void
}

export const lineCount = (blocks: ExactProps['blocks']) =>
  blocks.reduce((sum, { lines }) => sum + lines.length, 0)

/** Bytes as they were received: wrapped, never cut without saying so. */
export function Exact({ title, said, blocks, isWhole, onShowAll }: ExactProps) {
  const count = lineCount(blocks)
  let room = isWhole ? count : linesShown
  return (
    <div className="exact" data-testid="action">
      {(title || said) && (
        <div className="exact-head">
          <SquareTerminal size={16} aria-hidden="true" />
          <span dir="ltr">
            <Told text={title ?? ''} />
          </span>
          {said && <span className="exact-said">{said}</span>}
        </div>
      )}
      {blocks.map(({ testId, lines }) => {
        const shown = lines.slice(0, room)
        room -= shown.length
        return shown.length > 0 && <Lines key={testId} testId={testId} lines={shown} />
      })}
      {count > linesShown && !isWhole && (
        <button type="button" className="exact-more" data-testid="show-all" onClick={onShowAll}>
          {words.showAll(count)}
        </button>
      )}
    </div>
  )
}

function Lines({ testId, lines }: { testId: string; lines: readonly Line[] }) {
  return (
    <div className="exact-lines" data-testid={testId} dir="ltr">
      {lines.map((line, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: lines have no other name, and never move
        <div key={index} className="line" data-kind={line.kind}>
          <LineStart line={line} />
          <span>
            <Told text={line.text} />
          </span>
        </div>
      ))}
    </div>
  )
}

function LineStart({ line }: { line: Line }) {
  if (line.kind === 'pair') {
    return (
      <span className="line-key">
        <Told text={line.name ?? ''} />
      </span>
    )
  }
  const sign = { added: '+', removed: '−' }[line.kind as 'added' | 'removed'] ?? ''
  const spoken = line.kind === 'added' ? words.added : line.kind === 'removed' ? words.removed : ''
  return (
    <span>
      <span aria-hidden="true">{sign}</span>
      {spoken && <span className="unseen">{`${spoken} `}</span>}
    </span>
  )
}

export interface Fact {
  readonly name: string
  readonly value: ReactNode
  readonly isExact?: boolean
  readonly testId?: string
}

export function Facts({ facts }: { facts: readonly Fact[] }) {
  return (
    <dl className="surface facts">
      {facts.map(({ name, value, isExact, testId }) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd className={isExact ? 'is-exact' : undefined} data-testid={testId}>
            {value}
          </dd>
        </div>
      ))}
    </dl>
  )
}
