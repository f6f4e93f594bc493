import type { Approval, GrantMode } from '@guildhall/sdk'
import { useState } from 'react'
import { ChoiceBar, Sensitive } from '../parts/controls.tsx'
import { amountOf } from '../parts/time.ts'
import { Claim } from '../parts/voices.tsx'
import { words } from '../words.ts'
import { coverOf } from './action-parts.ts'
import { useDeciding } from './deciding.ts'
import { askOf, pathOf } from './describe.ts'
import { Dock } from './dock.tsx'
import { ActionEvidence, KnownFacts, unseenLines, useShown } from './evidence.tsx'
import { Heading } from './heading.tsx'
import { type Chosen, chosenAtFirst, modes, ScopeChooser, sensitiveIn } from './scope-chooser.tsx'
import { Who } from './who.tsx'

export interface CardProps {
  readonly request: Approval
}

/** One scope, with the reason and what the agent says it is for. */
export function PermissionCard({ request }: CardProps) {
  const { scopes, action, reason } = request
  const [asked] = scopes
  const scope = asked?.scope ?? ''
  const wished = (request.mode ?? asked?.default_mode ?? 'one_time') as GrantMode
  const [mode, setMode] = useState<GrantMode>(wished)
  const shown = useShown()
  const needsPasskey = asked?.sensitive ?? true
  const deciding = useDeciding(request, { scopes: [scope], modes: { [scope]: mode } }, needsPasskey)
  const unseen = unseenLines(action, shown)
  const label = words.allowing[mode]
  const covers = words.covers[coverOf(mode, action)]
  return (
    <>
      <div className="decision">
        <Who request={request} />
        <Heading className="ask" title={askOf(request)} testId="ask">
          {askOf(request)}
        </Heading>
        <div className="ask-bits">
          {needsPasskey && <Sensitive />}
          <span className="tag" data-testid="ask-scope">
            {scope}
          </span>
        </div>
        {reason && <Claim text={reason} caption={words.reasonSaid} testId="claim-reason" />}
        {action && <ActionEvidence action={action} shown={shown} />}
        <KnownFacts request={request} />
      </div>
      <Dock
        name={askOf(request)}
        deciding={deciding}
        needsPasskey={needsPasskey}
        allowLabel={unseen > 0 ? words.allowUnseen(label, unseen) : label}
        note={<span data-testid="covers">{covers}</span>}
        path={pathOf(request)}
      >
        <ChoiceBar name="mode" label={words.howLong} options={modes} value={mode} onChange={setMode} />
      </Dock>
    </>
  )
}

/** Several scopes at once, of which some may be left out. */
export function ConsentCard({ request }: CardProps) {
  const { scopes } = request
  const [chosen, setChosen] = useState<Chosen>(() => chosenAtFirst(scopes))
  const names = Object.keys(chosen)
  const sensitive = sensitiveIn(scopes, chosen)
  const deciding = useDeciding(request, { scopes: names, modes: { ...chosen } }, sensitive > 0)
  return (
    <>
      <div className="decision">
        <Who request={request} note={request.code ? words.code(request.code) : undefined} />
        <Heading className="ask" title={words.ask.consent} testId="ask">
          {words.ask.consent}
        </Heading>
        <p className="quiet">{words.ask.consentText(scopes.length)}</p>
        <ScopeChooser scopes={scopes} chosen={chosen} onChange={setChosen} />
        <KnownFacts request={request} />
      </div>
      <Dock
        name={words.ask.consent}
        deciding={deciding}
        needsPasskey={sensitive > 0}
        canAllow={names.length > 0}
        allowLabel={words.allowCount(names.length, scopes.filter(({ held }) => !held).length)}
        denyLabel={words.denyAll}
        note={sensitive > 0 ? words.passkeyWhy(sensitive) : undefined}
        path={pathOf(request)}
      />
    </>
  )
}

/** A key that has spent all it may. */
export function BudgetCard({ request }: CardProps) {
  const limit = request.budget?.limit ?? 0
  const [amount, setAmount] = useState('20')
  const given = Number(amount)
  const isAmount = amount.trim() !== '' && Number.isFinite(given) && given > 0
  const deciding = useDeciding(request, { amount: given }, false)
  return (
    <>
      <div className="decision">
        <Who request={request} />
        <Heading className="ask" title={askOf(request)} testId="ask">
          {words.ask.budget(amountOf(limit))}
        </Heading>
        <p className="quiet">{words.ask.budgetText}</p>
        <section className="section">
          <label>
            <span className="field-label">{words.raiseBy}</span>
            <input
              className="input"
              inputMode="decimal"
              value={amount}
              onChange={(event) => setAmount(event.target.value)}
              data-testid="budget-amount"
            />
          </label>
        </section>
        <KnownFacts request={request} />
      </div>
      <Dock
        name={askOf(request)}
        deciding={deciding}
        canAllow={isAmount}
        allowLabel={words.raise(isAmount ? amountOf(given) : '')}
        path={pathOf(request)}
      />
    </>
  )
}

/** A tool that an agent of the house wants to use in a chat. */
export function ToolCard({ request }: CardProps) {
  const { tool, action } = request
  const choices = tool?.choices ?? []
  const [choice, setChoice] = useState<string>(choices[0] ?? 'once')
  const shown = useShown()
  const needsPasskey = tool?.needsPasskey ?? false
  const deciding = useDeciding(request, { choice }, needsPasskey)
  const unseen = unseenLines(action, shown)
  const label = choice === 'hour' ? words.toolHour : words.toolOnce
  const options = choices.map((value) => ({
    value,
    title: value === 'hour' ? words.lasting.session : words.lasting.one_time,
  }))
  return (
    <>
      <div className="decision">
        <Who request={request} />
        <Heading className="ask" title={words.kinds['tool'] ?? ''} testId="ask">
          {askOf(request)}
        </Heading>
        {needsPasskey && (
          <div className="ask-bits">
            <Sensitive />
          </div>
        )}
        {request.reason && <Claim text={request.reason} caption={words.reasonSaid} testId="claim-reason" />}
        {action && <ActionEvidence action={action} shown={shown} />}
        <KnownFacts request={request} />
      </div>
      <Dock
        name={askOf(request)}
        deciding={deciding}
        needsPasskey={needsPasskey}
        allowLabel={unseen > 0 ? words.allowUnseen(label, unseen) : label}
        path={pathOf(request)}
      >
        {options.length > 1 && (
          <ChoiceBar
            name="choice"
            label={words.howLong}
            options={options}
            value={choice}
            onChange={setChoice}
          />
        )}
      </Dock>
    </>
  )
}

/** A kind that a later server has: it can be refused, and nothing is allowed that this page cannot show. */
export function UnknownCard({ request }: CardProps) {
  const deciding = useDeciding(request, {}, false)
  return (
    <>
      <div className="decision">
        <Who request={request} />
        <Heading className="ask" title={words.unknownKind} testId="ask">
          {askOf(request)}
        </Heading>
        <p className="quiet">{words.ask.unknownText}</p>
        <KnownFacts request={request} />
      </div>
      <Dock name={askOf(request)} deciding={deciding} path={pathOf(request)} />
    </>
  )
}
