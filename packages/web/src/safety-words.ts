/** The words for bad days: what an agent left behind. */

const counted = (count: number, one: string, many: string) => (count === 1 ? `1 ${one}` : `${count} ${many}`)

/** One of a kind, and several. */
const kinds: Readonly<Record<string, readonly [string, string]>> = {
  execution: ['skill run', 'skill runs'],
  'workflow-run': ['workflow run', 'workflow runs'],
  chat: ['reply of an agent', 'replies of agents'],
  skill: ['skill changed', 'skills changed'],
  workflow: ['workflow changed', 'workflows changed'],
  agent: ['agent changed', 'agents changed'],
  artifact: ['file or bundle', 'files and bundles'],
  permission: ['request that was allowed', 'requests that were allowed'],
  trace: ['trace written into', 'traces written into'],
}

export const touchedWords = {
  title: 'What it touched in 24 hours',
  willShow: 'Shows what it touched in 24 hours',
  nothing: 'Nothing in 24 hours.',
  spent: 'Spent',
  usedFrom: 'Used from',
  more: (count: number) => `and ${count} more`,
  group: (kind: string, count: number) => {
    const [one, many] = kinds[kind] ?? [kind, kind]
    return counted(count, one, many)
  },
  undo: {
    cancel: 'Still goes on',
    restore: 'An earlier version is kept',
    undo: 'Can be taken back',
  } as Readonly<Record<string, string>>,
  ended: 'This agent is revoked. It can do nothing more.',
  toAgents: 'To your agents',
} as const

export const lostWords = {
  otherDevice: 'On another device',
  otherDeviceText: 'Make a code here, and type it there under Settings, Passkeys.',
  makeCode: 'Make a code',
  codeMade: (until: string) => `Good once, until ${until}:`,
  haveCode: 'I have a code',
  haveCodeText: 'From another device of yours, or one of your recovery codes.',
  code: 'Code',
  addWithCode: 'Add a passkey here',
  recovery: 'Recovery codes',
  recoveryText: (left: number) =>
    left === 0
      ? 'You have none. With one of them you can add a passkey when all yours are lost.'
      : `You have ${counted(left, 'code', 'codes')} left. Each adds a passkey once, when all yours are lost.`,
  makeCodes: 'Make ten new codes',
  codesMade: 'Write them down now: they are not shown again, and earlier ones are no longer good.',
  allLost: 'All lost',
  allLostText:
    'Without a passkey and without a code you can have all your passkeys taken away in 72 hours, and then add a new one.',
  reset: 'Take all passkeys away',
  resetTitle: 'Take all passkeys away?',
  resetConfirmText:
    'In 72 hours. Until then every browser that you have notices in is told, and any of your passkeys can stop it.',
  resetUnderWay: (when: string) => `All your passkeys are taken away on ${when}, because it was asked for.`,
  resetStop: 'Keep them',
  resetStopped: 'Your passkeys stay.',
} as const
