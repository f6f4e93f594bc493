import { type QueryKey, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { sentenceOf } from './problems.ts'

export interface Said {
  readonly look: 'good' | 'bad'
  readonly text: string
}

/** One thing at a time: done, said, and what it changed read again, whether or not it succeeded. */
export function useActing(changed: QueryKey, tellProblem: (error: unknown) => string = sentenceOf) {
  const queries = useQueryClient()
  const [isBusy, setBusy] = useState(false)
  const [said, setSaid] = useState<Said>()
  async function act(work: () => Promise<string | undefined>): Promise<boolean> {
    setBusy(true)
    setSaid(undefined)
    let isDone = false
    try {
      const text = await work()
      if (text) setSaid({ look: 'good', text })
      isDone = true
    } catch (error) {
      setSaid({ look: 'bad', text: tellProblem(error) })
    }
    await queries.invalidateQueries({ queryKey: changed })
    setBusy(false)
    return isDone
  }
  return { act, isBusy, said }
}
