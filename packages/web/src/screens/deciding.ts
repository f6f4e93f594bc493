import type { Approval } from '@guildhall/sdk'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { allow, type Choice, deny } from '../api/decide.ts'
import { useLiveState } from '../api/live.ts'
import { passkeysQuery } from '../api/queries.ts'
import { useIsOver } from '../parts/timer.tsx'
import { useGuard } from './guard.ts'
import { isSettled, sentenceOf, wantsPasskey } from './problems.ts'
import { useProof } from './proof.ts'

export interface Deciding {
  readonly state: 'ready' | 'sending' | 'expired' | 'offline'
  /** Needed, and the person has none. */
  readonly lacksPasskey: boolean
  readonly problem: string | undefined
  readonly allow: () => void
  readonly deny: (reason?: string) => void
}

/** Decides one request. Nothing is shown as decided before the server has said so. */
export function useDeciding(request: Approval, choice: Choice, needsPasskey: boolean): Deciding {
  const queries = useQueryClient()
  const [isSending, setSending] = useState(false)
  const [problem, setProblem] = useState<string>()
  const isOver = useIsOver(request.expires_at)
  const live = useLiveState()
  const { data: passkeys } = useQuery({ ...passkeysQuery, enabled: needsPasskey })
  // Neither changes what is asked: whoever asks again and again must not keep the answer away.
  const { history: _history, times: _times, ...content } = request
  const isOpen = useGuard(JSON.stringify(content))
  const prove = useProof(request, choice, needsPasskey && passkeys?.length !== 0)

  async function decide(act: () => Promise<void>): Promise<void> {
    setSending(true)
    setProblem(undefined)
    try {
      await act()
    } catch (error) {
      if (!isSettled(error)) setProblem(sentenceOf(error))
    }
    await queries.invalidateQueries({ queryKey: ['approvals'] })
    setSending(false)
  }

  const state = isOver ? 'expired' : live === 'offline' ? 'offline' : isSending ? 'sending' : 'ready'
  return {
    state,
    lacksPasskey: needsPasskey && passkeys?.length === 0,
    problem,
    allow: () => {
      if (state !== 'ready' || !isOpen()) return
      void decide(async () => {
        if (needsPasskey) return allow(request, choice, await prove())
        try {
          await allow(request, choice, undefined)
        } catch (error) {
          // The server decides what needs a passkey, not the page.
          if (!wantsPasskey(error)) throw error
          await allow(request, choice, await prove())
        }
      })
    },
    deny: (reason) => {
      if (state === 'ready') void decide(() => deny(request, reason))
    },
  }
}
