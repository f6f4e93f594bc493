import type { KeyDetail } from '@guildhall/sdk'
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api } from '../api/client.ts'
import { Button, Note, Sheet } from '../parts/controls.tsx'
import { plainLine } from '../parts/text.ts'
import { touchedWords } from '../safety-words.ts'
import { words } from '../words.ts'
import { sentenceOf } from './problems.ts'

/** With what there is to say when it is done; with nothing when it was left as it is. */
type OnClose = (said?: string) => void

interface Counts {
  readonly stopped: number
  readonly endedGrants: number
  readonly droppedRequests: number
}

/** What a revoked agent leaves, counted by the server and not by what this page had read. */
const endedWords = ({ stopped, endedGrants, droppedRequests }: Counts) =>
  [
    words.revokedStopped(stopped),
    ...(endedGrants > 0 ? [words.revokedGrants(endedGrants)] : []),
    ...(droppedRequests > 0 ? [words.revokedRequests(droppedRequests)] : []),
  ].join(' ')

export function RevokeOne({ agent, onClose }: { agent: KeyDetail; onClose: OnClose }) {
  const label = plainLine(agent.label)
  const open = agent.running.length + agent.runs.length + agent.chats.length
  const along = [
    ...(open > 0 ? [words.willStop(open)] : []),
    ...(agent.grants.length > 0 ? [words.willEnd(agent.grants.length)] : []),
    ...(agent.pending > 0 ? [words.willDrop(agent.pending)] : []),
    touchedWords.willShow,
  ]
  const revoke = async () => {
    const answer = await api.keys.revoke(String(agent.id), { stopRunning: true })
    return `${words.revoked(label)} ${endedWords(answer)}`
  }
  return <RevokeSheet title={words.revokeTitle(label)} along={along} revoke={revoke} onClose={onClose} />
}

interface RevokeSeveralProps {
  readonly which: 'dormant' | readonly number[]
  readonly count: number
  readonly onClose: OnClose
}

/** One request ends a hundred at most; this goes on until all that were meant are over. */
export function RevokeSeveral({ which, count, onClose }: RevokeSeveralProps) {
  const revoke = async () => {
    const sum = { revoked: 0, stopped: 0, endedGrants: 0, droppedRequests: 0 }
    const requests: { ids?: number[]; dormant?: boolean }[] =
      which === 'dormant' ? [{ dormant: true }] : hundreds(which).map((ids) => ({ ids }))
    for (let request = requests.shift(); request; request = requests.shift()) {
      const answer = await api.keys.revokeMany({ ...request, stopRunning: true })
      sum.revoked += answer.revoked.length
      sum.stopped += answer.stopped
      sum.endedGrants += answer.endedGrants
      sum.droppedRequests += answer.droppedRequests
      if (answer.more) requests.push(request)
    }
    return `${words.revokedSeveral(sum.revoked)} ${endedWords(sum)}`
  }
  return <RevokeSheet title={words.revokeSeveralTitle(count)} along={[]} revoke={revoke} onClose={onClose} />
}

const atOnce = 100

function hundreds(ids: readonly number[]): number[][] {
  return Array.from({ length: Math.ceil(ids.length / atOnce) }, (_, part) =>
    ids.slice(part * atOnce, (part + 1) * atOnce),
  )
}

interface RevokeSheetProps {
  readonly title: string
  readonly along: readonly string[]
  readonly revoke: () => Promise<string>
  readonly onClose: OnClose
}

function RevokeSheet({ title, along, revoke, onClose }: RevokeSheetProps) {
  const queries = useQueryClient()
  const [isSending, setSending] = useState(false)
  const [problem, setProblem] = useState<string>()
  async function confirm(): Promise<void> {
    setSending(true)
    setProblem(undefined)
    try {
      onClose(await revoke())
    } catch (error) {
      setProblem(sentenceOf(error))
      setSending(false)
    }
    await queries.invalidateQueries()
  }
  return (
    <Sheet title={title} onClose={() => onClose()} testId="revoke-sheet">
      <p>{words.revokeText}</p>
      {along.length > 0 && (
        <ul className="surface section rows" data-testid="revoke-along">
          {along.map((line) => (
            <li className="row" key={line}>
              {line}
            </li>
          ))}
        </ul>
      )}
      {problem && <Note look="bad">{problem}</Note>}
      <div className="sheet-acts">
        <Button
          look="destroy"
          size="large"
          isBusy={isSending}
          onClick={() => void confirm()}
          data-testid="revoke-confirm"
        >
          {words.revokeConfirm}
        </Button>
        <Button onClick={() => onClose()}>{words.keep}</Button>
      </div>
    </Sheet>
  )
}
