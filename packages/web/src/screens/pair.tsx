import { NotFoundError, RateLimitError } from '@guildhall/sdk/core'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Laptop } from 'lucide-react'
import { type FormEvent, useState } from 'react'
import { useSearchParams } from 'wouter'
import { pairingQuery } from '../api/queries.ts'
import { Button, Ghost, Note } from '../parts/controls.tsx'
import { words } from '../words.ts'
import { codeOf, symbolsOf } from './code.ts'
import { CodeBoxes } from './code-boxes.tsx'
import { Heading } from './heading.tsx'
import { PairReview } from './pair-review.tsx'
import { sentenceOf } from './problems.ts'
import { Top } from './top.tsx'

/** A code is typed or comes with the link; nothing is looked up, and nothing decided, before a tap. */
export default function Pair({ code: linked }: { code?: string | undefined }) {
  const [query] = useSearchParams()
  const [typed, setTyped] = useState(() => symbolsOf(linked ?? query.get('code') ?? ''))
  const [lookedUp, setLookedUp] = useState<string>()
  const queries = useQueryClient()
  const {
    data: pairing,
    error,
    isFetching,
  } = useQuery({
    ...pairingQuery(lookedUp ?? ''),
    enabled: lookedUp !== undefined,
  })
  if (lookedUp !== undefined && pairing) return <PairReview pairing={pairing} />

  function lookUp(event: FormEvent): void {
    event.preventDefault()
    const code = codeOf(typed)
    if (code === undefined) return
    queries.removeQueries({ queryKey: ['pairing'] })
    setLookedUp(code)
  }

  return (
    <form className="pair" onSubmit={lookUp}>
      <Top title={words.pairing.title} />
      <div className="decision center">
        <div className="pair-sign">
          <Laptop size={26} aria-hidden="true" />
        </div>
        <Heading className="ask" title={words.pairing.title}>
          {words.pairing.ask}
        </Heading>
        <p className="quiet">{words.pairing.text}</p>
        <CodeInput value={typed} onChange={setTyped} />
        <p className="small quiet">{words.pairing.hint}</p>
        <section className="section">
          {error && (
            <Note look="bad" testId="pair-problem">
              {problemOf(error)}
            </Note>
          )}
          {isFetching && <Ghost count={1} />}
        </section>
        <Note look="warn">
          <strong>{words.pairing.warnTitle}</strong> {words.pairing.warnText}
        </Note>
      </div>
      <div className="dock">
        <div className="dock-inner">
          <Button
            type="submit"
            look="primary"
            size="large"
            disabled={codeOf(typed) === undefined}
            data-testid="pair-lookup"
          >
            {words.pairing.lookUp}
          </Button>
          <p className="dock-note">{words.pairing.lookUpNote}</p>
        </div>
      </div>
    </form>
  )
}

function problemOf(error: unknown): string {
  if (NotFoundError.is(error)) return words.pairing.unknown
  if (RateLimitError.is(error)) return words.pairing.tooMany(Math.ceil((error.retryAfterSeconds ?? 60) / 60))
  return sentenceOf(error)
}

/** Eight boxes that show one real input. */
function CodeInput({ value, onChange }: { value: string; onChange: (symbols: string) => void }) {
  return (
    <div className="code">
      <CodeBoxes symbols={value} />
      <input
        aria-label={words.pairing.label}
        autoCapitalize="characters"
        autoComplete="off"
        spellCheck={false}
        maxLength={40}
        value={value}
        onChange={(event) => onChange(symbolsOf(event.target.value))}
        data-testid="pair-code"
      />
    </div>
  )
}
