import type { Approval, DeviceAuth } from '@guildhall/sdk'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { type Choice, challenge } from '../api/decide.ts'

const freshMs = 240_000

const challengeQuery = (request: Approval, choice: Choice) => ({
  queryKey: ['challenge', request.id, choice.scopes, choice.modes, choice.choice],
  queryFn: () => challenge(request, choice),
  staleTime: freshMs,
  gcTime: freshMs,
  retry: false,
})

/**
 * Proof by passkey of exactly this choice. What is to be signed is fetched with the first touch of the page, and again
 * with each change, so that the passkey is asked for within the tap. Not before a touch: whoever only opens a link
 * sends nothing.
 */
export function useProof(request: Approval, choice: Choice, isNeeded: boolean): () => Promise<DeviceAuth> {
  const queries = useQueryClient()
  const wasTouched = useTouched()
  const query = challengeQuery(request, choice)
  useQuery({ ...query, enabled: isNeeded && wasTouched })
  useEffect(() => {
    if (isNeeded && wasTouched) void import('./passkey.ts')
  }, [isNeeded, wasTouched])
  return async () => {
    try {
      const [{ options }, { assertPasskey }] = await Promise.all([
        queries.ensureQueryData(query),
        import('./passkey.ts'),
      ])
      return await assertPasskey(options)
    } finally {
      // A challenge fits once.
      queries.removeQueries({ queryKey: ['challenge', request.id] })
    }
  }
}

const touches = ['pointermove', 'pointerdown', 'keydown', 'touchstart'] as const

function useTouched(): boolean {
  const [wasTouched, setTouched] = useState(false)
  useEffect(() => {
    if (wasTouched) return
    const onTouch = () => setTouched(true)
    for (const touch of touches) document.addEventListener(touch, onTouch, { passive: true })
    return () => {
      for (const touch of touches) document.removeEventListener(touch, onTouch)
    }
  }, [wasTouched])
  return wasTouched
}
