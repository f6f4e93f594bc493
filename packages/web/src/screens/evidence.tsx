import type { Approval, ShownAction } from '@guildhall/sdk'
import { Fragment, useState } from 'react'
import { Note } from '../parts/controls.tsx'
import { linesShown } from '../parts/lines.ts'
import { hasStrange } from '../parts/text.ts'
import { amountOf, dateOf } from '../parts/time.ts'
import { Claim, Exact, type Fact, Facts, lineCount, Told } from '../parts/voices.tsx'
import { words } from '../words.ts'
import { noteOf, partsOf } from './action-parts.ts'

export interface Shown {
  readonly isRaw: boolean
  readonly isWhole: boolean
  readonly toggleRaw: () => void
  readonly showAll: () => void
}

export function useShown(): Shown {
  const [isRaw, setRaw] = useState(false)
  const [isWhole, setWhole] = useState(false)
  return { isRaw, isWhole, toggleRaw: () => setRaw(!isRaw), showAll: () => setWhole(true) }
}

/** How much of what the agent wrote is folded away. Whoever says yes is told. */
export function unseenLines(action: ShownAction | null, { isRaw, isWhole }: Shown): number {
  if (!action || isWhole) return 0
  return partsOf(action, isRaw).reduce(
    (sum, { blocks }) => sum + Math.max(0, lineCount(blocks) - linesShown),
    0,
  )
}

/** What is bound, and what is the agent's word and only its word: each under its own heading. */
export function ActionEvidence({ action, shown }: { action: ShownAction; shown: Shown }) {
  const parts = partsOf(action, shown.isRaw)
  const lines = parts.flatMap(({ blocks }) => blocks).flatMap((block) => block.lines)
  const isMarked = lines.some(({ name, text }) => hasStrange(text) || hasStrange(name ?? ''))
  const note = noteOf(action)
  return (
    <section className="section">
      <Claim text={action.summary} caption={words.summarySaid} testId="claim-summary" />
      {parts.map(({ title, tool, cost, blocks }, index) => (
        <Fragment key={title}>
          <div className="section section-title">
            <h2>{words[title]}</h2>
            {index === 0 && (
              <button type="button" className="text-link" onClick={shown.toggleRaw}>
                {shown.isRaw ? words.readable : words.raw}
              </button>
            )}
          </div>
          <Exact
            title={tool}
            said={cost === undefined ? undefined : words.saysCost(amountOf(cost))}
            blocks={blocks}
            isWhole={shown.isWhole}
            onShowAll={shown.showAll}
          />
        </Fragment>
      ))}
      {isMarked && <Note look="warn">{words.strange}</Note>}
      {note && <Note {...(note === 'anyBody' && { look: 'warn' })}>{words[note]}</Note>}
    </section>
  )
}

/** What Guildhall knows by itself, and what the program said when it was paired. */
export function KnownFacts({ request }: { request: Approval }) {
  const { key, history, action, workflow } = request
  const facts: Fact[] = [
    ...(action?.target ? [{ name: words.target, value: <Told text={action.target} />, isExact: true }] : []),
    ...(action?.request
      ? [
          {
            name: words.request,
            value: <Told text={`${action.request.method} ${action.request.path}`} />,
            isExact: true,
          },
        ]
      : []),
    ...(key?.client_label
      ? [
          {
            name: words.calls,
            value: (
              <span className="claimed">
                “<Told text={key.client_label} />”
              </span>
            ),
          },
        ]
      : []),
    ...(key?.client_ua ? [{ name: words.program, value: <Told text={key.client_ua} />, isExact: true }] : []),
    ...(key?.client_ip ? [{ name: words.address, value: key.client_ip, isExact: true }] : []),
    ...(key ? [{ name: words.keyCreated, value: dateOf(key.created_at) }] : []),
    ...(workflow
      ? [
          { name: words.run, value: workflow.runId, isExact: true },
          { name: words.step, value: <Told text={workflow.stepId} />, isExact: true },
        ]
      : []),
    ...(request.kind === 'permission'
      ? [{ name: words.before, value: words.history(history.asked, history.allowed, history.denied) }]
      : []),
  ]
  if (facts.length === 0) return null
  return (
    <section className="section">
      <div className="section-title">
        <h2>{words.knows}</h2>
      </div>
      <Facts facts={facts} />
    </section>
  )
}
