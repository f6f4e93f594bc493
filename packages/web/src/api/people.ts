import type { Member } from '@guildhall/sdk'
import { ForbiddenError } from '@guildhall/sdk/core'
import { Invitations } from '@guildhall/sdk/invitations'
import { Members } from '@guildhall/sdk/members'
import { OauthGrants } from '@guildhall/sdk/oauth-grants'
import { queryOptions } from '@tanstack/react-query'
import { client } from './client.ts'

/** What the pages about people and apps ask of the server. */
export const people = {
  invitations: new Invitations(client),
  members: new Members(client),
  grants: new OauthGrants(client),
}

export const grantsQuery = queryOptions({
  queryKey: ['grants'],
  queryFn: ({ signal }) => people.grants.list({ signal }),
})

export const receivedQuery = queryOptions({
  queryKey: ['invitations', 'received'],
  queryFn: async ({ signal }) => (await people.invitations.list({ signal })).items,
  // Nothing tells of them, and somebody may be waiting for one.
  refetchInterval: 30_000,
})

/** Each names its workspace: another window of this session may have chosen another one meanwhile. */
export const membersQuery = (workspaceId: string) =>
  queryOptions({
    queryKey: ['members', workspaceId],
    queryFn: async ({ signal }) => {
      const members: Member[] = []
      for await (const member of people.members.list({ limit: 200 }, { workspaceId, signal }))
        members.push(member)
      return members
    },
    refetchInterval: 30_000,
    retry: isWorthAgain,
  })

export const invitedQuery = (workspaceId: string) =>
  queryOptions({
    queryKey: ['invitations', 'sent', workspaceId],
    queryFn: async ({ signal }) => (await people.members.invitations({ workspaceId, signal })).items,
    refetchInterval: 30_000,
    retry: isWorthAgain,
  })

function isWorthAgain(failures: number, error: unknown): boolean {
  return failures < 2 && !ForbiddenError.is(error)
}
