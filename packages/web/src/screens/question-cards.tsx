import { type ReactNode, useState } from 'react'
import { jsonOf, textLines } from '../parts/lines.ts'
import { Claim, Exact } from '../parts/voices.tsx'
import { words } from '../words.ts'
import type { CardProps } from './cards.tsx'
import { type Deciding, useDeciding } from './deciding.ts'
import { askOf, pathOf, payloadOf, textOf } from './describe.ts'
import { Dock } from './dock.tsx'
import { ActionEvidence, KnownFacts, unseenLines, useShown } from './evidence.tsx'
import { Heading } from './heading.tsx'
import { Who } from './who.tsx'

/** An act of the agent's own, about which it asks first. */
export function AskCard({ request }: CardProps) {
  const { ask, action } = request
  const choices = (ask?.choices ?? []).filter(({ kind }) => kind !== 'deny')
  const [choice, setChoice] = useState(choices[0]?.id)
  const [answer, setAnswer] = useState('')
  const shown = useShown()
  const wantsAnswer = ask?.schema !== undefined
  const parsed = wantsAnswer ? parse(answer) : undefined
  const deciding = useDeciding(
    request,
    { ...(choice !== undefined && { choice }), ...(parsed && { answer: parsed.value }) },
    false,
  )
  const unseen = unseenLines(action, shown)
  const label = choices.length > 0 || wantsAnswer ? words.send : words.approve
  return (
    <>
      <div className="decision">
        <Who request={request} />
        <Heading className="ask" title={words.ask.ask} testId="ask">
          {words.ask.ask}
        </Heading>
        <p className="quiet">{words.ask.askText}</p>
        {ask && <Claim text={ask.question} caption={words.questionSaid} testId="claim-reason" />}
        {action && <ActionEvidence action={action} shown={shown} />}
        {choices.length > 0 && (
          <Options
            options={choices.map(({ id, label: title }) => ({ value: id, title }))}
            value={choice}
            onChange={setChoice}
          />
        )}
        {wantsAnswer && (
          <TextAnswer
            label={words.answerAsJson}
            value={answer}
            onChange={setAnswer}
            isWrong={answer !== '' && !parsed}
          />
        )}
        <KnownFacts request={request} />
      </div>
      <Dock
        name={askOf(request)}
        deciding={deciding}
        canAllow={!wantsAnswer || parsed !== undefined}
        allowLabel={unseen > 0 ? words.allowUnseen(label, unseen) : label}
        path={pathOf(request)}
      />
    </>
  )
}

/** A step of a workflow: a question to answer, a yes or no, or something that only its author knows how to answer. */
export function WorkflowCard(props: CardProps) {
  const payload = payloadOf(props.request.workflow?.payload)
  if (payload['kind'] === 'approval') return <ApprovalStep {...props} />
  if (payload['kind'] === 'question') return <QuestionStep {...props} />
  return <OtherStep {...props} />
}

function ApprovalStep({ request }: CardProps) {
  const payload = payloadOf(request.workflow?.payload)
  const [note, setNote] = useState('')
  const said = note.trim() ? { note: note.trim() } : {}
  const deciding = useDeciding(request, { resumeData: { approved: true, ...said } }, false)
  return (
    <Step
      request={request}
      deciding={deciding}
      question={textOf(payload['action'])}
      material={payload['details']}
      allowLabel={words.approve}
      canDeny
    >
      <TextAnswer label={words.yourNote} value={note} onChange={setNote} />
    </Step>
  )
}

function QuestionStep({ request }: CardProps) {
  const payload = payloadOf(request.workflow?.payload)
  const listed: unknown = payload['choices']
  const choices = Array.isArray(listed) ? listed.filter((each) => typeof each === 'string') : []
  const [answer, setAnswer] = useState(choices[0] ?? '')
  const deciding = useDeciding(request, { resumeData: { answer } }, false)
  return (
    <Step
      request={request}
      deciding={deciding}
      question={textOf(payload['question'])}
      allowLabel={words.send}
      canAllow={answer.trim() !== ''}
    >
      {choices.length > 0 ? (
        <Options
          options={choices.map((value) => ({ value, title: value }))}
          value={answer}
          onChange={setAnswer}
        />
      ) : (
        <TextAnswer label={words.yourAnswer} value={answer} onChange={setAnswer} />
      )}
    </Step>
  )
}

function OtherStep({ request }: CardProps) {
  const [answer, setAnswer] = useState('')
  const parsed = parse(answer)
  const deciding = useDeciding(request, { resumeData: parsed?.value }, false)
  return (
    <Step
      request={request}
      deciding={deciding}
      material={request.workflow?.payload}
      allowLabel={words.send}
      canAllow={parsed !== undefined}
    >
      <TextAnswer
        label={words.answerAsJson}
        value={answer}
        onChange={setAnswer}
        isWrong={answer !== '' && !parsed}
      />
    </Step>
  )
}

interface StepProps extends CardProps {
  readonly deciding: Deciding
  readonly question?: string | undefined
  readonly material?: unknown
  readonly allowLabel: string
  readonly canAllow?: boolean
  readonly canDeny?: boolean
  readonly children: ReactNode
}

function Step({
  request,
  deciding,
  question,
  material,
  allowLabel,
  canAllow = true,
  canDeny = false,
  children,
}: StepProps) {
  const [isWhole, setWhole] = useState(false)
  const wholeBytes = request.workflow?.payloadBytes
  return (
    <>
      <div className="decision">
        <Who request={request} />
        <Heading className="ask" title={askOf(request)} testId="ask">
          {askOf(request)}
        </Heading>
        {question && <Claim text={question} caption={words.questionSaid} testId="claim-reason" />}
        {wholeBytes !== undefined && (
          <p className="quiet" data-testid="cut">
            {words.shownInPart(wholeBytes, request.workflow?.runId ?? '')}
          </p>
        )}
        {material !== undefined && (
          <section className="section">
            <Exact
              blocks={[{ testId: 'action-args', lines: textLines(jsonOf(material)) }]}
              isWhole={isWhole}
              onShowAll={() => setWhole(true)}
            />
          </section>
        )}
        <section className="section">{children}</section>
        <KnownFacts request={request} />
      </div>
      <Dock
        name={askOf(request)}
        deciding={deciding}
        allowLabel={wholeBytes === undefined ? allowLabel : words.allowInPart(allowLabel)}
        canAllow={canAllow}
        canDeny={canDeny}
        denyLabel={words.refuse}
        path={pathOf(request)}
      />
    </>
  )
}

interface OptionsProps {
  readonly options: readonly { readonly value: string; readonly title: string }[]
  readonly value: string | undefined
  readonly onChange: (value: string) => void
}

function Options({ options, value, onChange }: OptionsProps) {
  return (
    <fieldset className="section" aria-label={words.yourAnswer}>
      {options.map((option) => (
        <label className="option" key={option.value} data-testid="choice" data-choice={option.value}>
          <input
            type="radio"
            className="radio"
            name="answer"
            checked={option.value === value}
            onChange={() => onChange(option.value)}
          />
          <span className="claimed">{option.title}</span>
        </label>
      ))}
    </fieldset>
  )
}

interface TextAnswerProps {
  readonly label: string
  readonly value: string
  readonly onChange: (value: string) => void
  readonly isWrong?: boolean
}

function TextAnswer({ label, value, onChange, isWrong = false }: TextAnswerProps) {
  return (
    <label>
      <span className="field-label">{label}</span>
      <textarea
        className="input"
        value={value}
        onChange={(event) => onChange(event.target.value)}
        aria-invalid={isWrong || undefined}
        data-testid="answer"
      />
      {isWrong && <span className="row-note">{words.notJson}</span>}
    </label>
  )
}

function parse(text: string): { value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) }
  } catch {
    return undefined
  }
}
