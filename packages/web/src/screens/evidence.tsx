import type { Approval, ShownAction } from '@guildhall/sdk'
import { useState } from 'react'
import { Note } from '../parts/controls.tsx'
import { diffLines, jsonOf, linesShown, textLines, valueLines } from '../parts/lines.ts'
import { hasStrange } from '../parts/text.ts'
import { amountOf, dateOf } from '../parts/time.ts'
import { Claim, Exact, type Fact, Facts, lineCount, Told } from '../parts/voices.tsx'
import { words } from '../words.ts'

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

function blocksOf({ args, diff }: ShownAction, isRaw: boolean) {
  return [
    ...(args === undefined
      ? []
      : [{ testId: 'action-args', lines: isRaw ? textLines(jsonOf(args)) : valueLines(args) }]),
    ...(diff === undefined
      ? []
      : [{ testId: 'action-diff', lines: isRaw ? textLines(diff) : diffLines(diff) }]),
  ]
}

/** How much of what the agent wrote is folded away. Whoever says yes is told. */
export function unseenLines(action: ShownAction | null, { isRaw, isWhole }: Shown): number {
  if (!action || isWhole) return 0
  return Math.max(0, lineCount(blocksOf(action, isRaw)) - linesShown)
}

/** What the agent says it will do: its word, and only its word. */
export function ActionEvidence({ action, shown }: { action: ShownAction; shown: Shown }) {
  const blocks = blocksOf(action, shown.isRaw)
  const isMarked = blocks.some(({ lines }) => lines.some(({ text }) => hasStrange(text)))
  return (
    <section className="section">
      <Claim text={action.summary} caption={words.summarySaid} testId="claim-summary" />
      {(blocks.length > 0 || action.tool) && (
        <>
          <div className="section section-title">
            <h2>{action.argsAreBody ? words.willSend : words.saysItWillRun}</h2>
            <button type="button" className="text-link" onClick={shown.toggleRaw}>
              {shown.isRaw ? words.readable : words.raw}
            </button>
          </div>
          <Exact
            title={action.tool}
            said={
              action.estimatedCost === undefined ? undefined : words.saysCost(amountOf(action.estimatedCost))
            }
            blocks={blocks}
            isWhole={shown.isWhole}
            onShowAll={shown.showAll}
          />
          {isMarked && <Note look="warn">{words.strange}</Note>}
          {action.request && blocks.length > 0 && !action.argsAreBody && <Note>{words.notBound}</Note>}
        </>
      )}
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
