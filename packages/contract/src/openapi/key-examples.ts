/** A key, with what it may do for a while and does. */
export function keyExamples(workspace: { readonly id: string; readonly name: string }, at: string) {
  const key = {
    id: 12,
    label: 'Nightly bot',
    prefix: 'guild_live_3fX9aB',
    workspace,
    scopes: ['tool:execute:weekly-report'],
    activated: true,
    activity: 'ACTIVE',
    createdVia: 'pairing',
    clientLabel: 'bot on build-7',
    clientUa: null,
    clientIp: '203.0.113.7',
    lastUsedAt: at,
    lastUsedIp: '203.0.113.7',
    createdAt: at,
    expiresAt: null,
    spend: { total: 41.5, limit: 500, today: 3.2, month: 38.4 },
  }
  const grant = {
    id: 7,
    scope: 'tool:execute:weekly-report',
    mode: 'session',
    createdAt: at,
    expiresAt: '2026-11-15T10:30:00Z',
    requestId: 'permission_9',
    bound: null,
  }
  const touched = { id: 'weekly-report', title: 'weekly-report', at, undo: 'restore' }
  return {
    Key: key,
    KeyTouched: {
      key: { id: 12, label: 'Nightly bot', revokedAt: null },
      since: '2026-11-14T09:30:00Z',
      until: at,
      spend: 3.2,
      addresses: [{ ip: '203.0.113.7', firstAt: at, lastAt: at }],
      groups: [{ kind: 'skill', count: 1, items: [touched] }],
    },
    TouchedItem: touched,
    TouchedKind: 'skill',
    KeyDetail: {
      ...key,
      spend: { total: 41.5, limit: 500, period: 'total', today: 3.2, month: 38.4, reserved: 10 },
      grants: [grant],
      running: [
        { executionId: 'exec_1', skillName: 'Weekly report', cost: 3.2, startedAt: at, lastSequence: 14 },
      ],
      runs: [{ runId: 'run_51aa', name: 'weekly', status: 'suspended' }],
      chats: [],
      pending: 1,
      oldSecretUntil: null,
    },
    KeyGrant: grant,
    NewKey: { ...key, api_key: 'guild_live_3fX9aB…' },
  }
}
