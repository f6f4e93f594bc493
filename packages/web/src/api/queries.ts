import type { Approval } from '@guildhall/sdk'
import { AuthenticationError, NotFoundError } from '@guildhall/sdk/core'
import { QueryCache, QueryClient, queryOptions } from '@tanstack/react-query'
import { api } from './client.ts'
import { isLive } from './live.ts'
import { readPushState } from './push.ts'

/** What was read. What is old is shown until the new is there, and marked as old when it cannot come. */
export const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 5_000,
      retry: (failures, error) => failures < 2 && !AuthenticationError.is(error),
      networkMode: 'always',
    },
    mutations: { networkMode: 'always', retry: false },
  },
  queryCache: new QueryCache({
    onError: (error) => {
      // A session that has ended elsewhere: whoever looks at anything is asked to sign in again.
      if (AuthenticationError.is(error)) queries.setQueryData(['session'], null)
    },
  }),
})

/** Null for who is not signed in; an error for a server that cannot say. */
export const sessionQuery = queryOptions({
  queryKey: ['session'],
  queryFn: async ({ signal }) => {
    try {
      return await api.session.get({ signal })
    } catch (error) {
      if (AuthenticationError.is(error)) return null
      throw error
    }
  },
  staleTime: 60_000,
})

/** Ends by itself, because it is for what waits: with the socket away it is asked for more often. */
const often = () => (isLive() ? 30_000 : 10_000)

export const pendingQuery = queryOptions({
  queryKey: ['approvals', 'pending'],
  queryFn: async ({ signal }) => {
    const { items } = await api.approvals.list({ status: 'pending', view: 'card', limit: 100 }, { signal })
    return items.toSorted(soonestFirst)
  },
  refetchInterval: often,
})

export const decidedQuery = queryOptions({
  queryKey: ['approvals', 'decided'],
  queryFn: async ({ signal }) => {
    const { items } = await api.approvals.list({ view: 'card', limit: 20 }, { signal })
    return items.filter(({ status }) => status !== 'pending').slice(0, 5)
  },
})

export const approvalQuery = (id: string) =>
  queryOptions({
    queryKey: ['approvals', 'one', id],
    queryFn: ({ signal }) => api.approvals.get(id, {}, { signal }),
    refetchInterval: often,
  })

export const pairingQuery = (code: string) =>
  queryOptions({
    queryKey: ['pairing', code],
    queryFn: ({ signal }) => api.pairings.lookup({ code }, { signal }),
    // Each look at a wrong code counts against the person.
    retry: false,
    staleTime: Number.POSITIVE_INFINITY,
  })

export const keysQuery = queryOptions({
  queryKey: ['keys', 'all'],
  queryFn: ({ signal }) => api.keys.list({ signal }),
})

export const keyQuery = (id: number) =>
  queryOptions({
    queryKey: ['keys', 'one', id],
    queryFn: ({ signal }) => api.keys.get(String(id), { signal }),
    // What it runs and has left changes by itself, and nothing tells of that.
    refetchInterval: 10_000,
    retry: (failures, error) => failures < 2 && !NotFoundError.is(error) && !AuthenticationError.is(error),
  })

/** What a key did in a day, also once it was revoked. */
export const touchedQuery = (id: number) =>
  queryOptions({
    queryKey: ['keys', 'touched', id],
    queryFn: ({ signal }) => api.keys.touched(String(id), {}, { signal }),
    staleTime: 30_000,
    // What was stopped a moment ago may still be on its way to its end, and whoever looks waits for that.
    refetchInterval: ({ state }) =>
      state.data?.groups.some(({ items }) => items.some(({ undo }) => undo === 'cancel')) ? 3000 : false,
    retry: (failures, error) => failures < 2 && !NotFoundError.is(error) && !AuthenticationError.is(error),
  })

export const passkeysQuery = queryOptions({
  queryKey: ['passkeys'],
  queryFn: ({ signal }) => api.passkeys.list({ signal }),
})

export const passkeyRecoveryQuery = queryOptions({
  queryKey: ['passkeys', 'recovery'],
  queryFn: ({ signal }) => api.passkeys.recovery({ signal }),
  staleTime: 60_000,
})

export const sessionsQuery = queryOptions({
  queryKey: ['sessions'],
  queryFn: ({ signal }) => api.session.list({ signal }),
})

export const pushStateQuery = queryOptions({ queryKey: ['push', 'state'], queryFn: readPushState })

export const toldBrowsersQuery = queryOptions({
  queryKey: ['push', 'browsers'],
  queryFn: ({ signal }) => api.push.list({ signal }),
})

export const noticesQuery = queryOptions({
  queryKey: ['push', 'settings'],
  queryFn: ({ signal }) => api.profile.notifications({ signal }),
})

export const billingQuery = queryOptions({
  queryKey: ['billing'],
  queryFn: ({ signal }) => api.billing.get({ signal }),
  staleTime: 30_000,
})

export const providersQuery = queryOptions({
  queryKey: ['providers'],
  queryFn: ({ signal }) => api.session.providers({ signal }),
  staleTime: Number.POSITIVE_INFINITY,
})

/** What cannot wait first; what has all the time last. */
function soonestFirst(a: Approval, b: Approval): number {
  const endOf = ({ expires_at }: Approval) => (expires_at ? Date.parse(expires_at) : Number.POSITIVE_INFINITY)
  const [first, second] = [endOf(a), endOf(b)]
  return first === second ? a.created_at.localeCompare(b.created_at) : first - second
}
