/** Of records that have to do with what browsers are told. */
export const pushExamples = {
  NotificationSettings: {
    approvals: 'all',
    questions: true,
    budget: true,
    quiet: { from: '22:00', to: '07:00', timezone: 'Europe/London', except: ['budget'] },
    digest: null,
    muted: [],
  },
  PushSubscription: {
    id: 'push_0198c1f2-7c00-7000-8000-0000000000c1',
    label: 'Phone',
    createdAt: '2026-11-15T09:30:00Z',
    deliveredAt: null,
    failing: false,
    current: true,
  },
}
