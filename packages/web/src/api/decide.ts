import type { Approval, DeviceAuth, GrantMode } from '@guildhall/sdk'
import { api } from './client.ts'

/** What a person has chosen, as it stands on the page. */
export interface Choice {
  readonly scopes?: string[]
  readonly modes?: Record<string, GrantMode>
  readonly amount?: number
  readonly choice?: string
  readonly resumeData?: unknown
  readonly answer?: unknown
}

/** Says yes to exactly this. */
export async function allow(request: Approval, choice: Choice, proof: DeviceAuth | undefined): Promise<void> {
  const device = proof ? { device_auth: proof } : {}
  if (request.kind === 'permission') {
    const mode = choice.modes?.[request.scopes[0]?.scope ?? '']
    await api.permissions.approve(request.id, { ...(mode && { mode }), ...device })
  } else if (request.kind === 'consent') {
    const { scopes = [], modes = {} } = choice
    await api.consents.approve(request.id, { scopes, modes, ...device })
  } else {
    const { amount, choice: chosen, resumeData, answer } = choice
    await api.approvals.approve(request.id, {
      ...(amount !== undefined && { amount }),
      ...(chosen !== undefined && { choice: chosen }),
      ...(resumeData !== undefined && { resumeData }),
      ...(answer !== undefined && { answer }),
      ...device,
    })
  }
}

/** Says no; what was decided or has ended meanwhile needs none. */
export async function deny(request: Approval, reason?: string): Promise<void> {
  const body = reason ? { reason } : {}
  if (request.kind === 'activation') await api.pairings.deny({ code: request.code ?? '' })
  else if (request.kind === 'permission') await api.permissions.deny(request.id, body)
  else if (request.kind === 'consent') await api.consents.deny(request.id, body)
  else await api.approvals.deny(request.id, body)
}

/** What the passkey has to sign for this choice. */
export function challenge(request: Approval, { scopes, modes, choice }: Choice) {
  return api.approvals.challenge(request.id, {
    ...(scopes && { scopes }),
    ...(modes && { modes }),
    ...(choice !== undefined && { choice }),
  })
}
