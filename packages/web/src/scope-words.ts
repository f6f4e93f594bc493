/** What each permission is called, and what it lets an agent do. */
interface ScopeWords {
  readonly title: string
  readonly means: string
}

const known: Readonly<Record<string, ScopeWords>> = {
  '*': { title: 'Have full access', means: 'All that you can do here, until you take it back.' },
  'profile:read': { title: 'Read your profile', means: 'Your name, address, language and time zone.' },
  'profile:search': { title: 'Search your profile', means: 'Find things in what you told about yourself.' },
  'profile:write': { title: 'Change your profile', means: 'Edit your name, language and the rest of it.' },
  'memory:read': { title: 'Read memory', means: 'The notes that agents keep about you.' },
  'memory:write': { title: 'Change memory', means: 'Add notes about you, correct and delete them.' },
  'workspace:files:read': { title: 'Read files', means: 'All files of this workspace.' },
  'workspace:files:write': {
    title: 'Change files',
    means: 'Create, edit and delete files, and install skills and workflows.',
  },
  'tool:execute': { title: 'Run any skill', means: 'Start skills and workflows. Each run costs credits.' },
  'agent:list': { title: 'See your agents', means: 'Their names and descriptions, no more.' },
  'agent:message': { title: 'Message your agents', means: 'Write to them as if it were you.' },
  'billing:read': {
    title: 'See your balance',
    means: 'Balance, spending and limits. It cannot pay with it.',
  },
  'trace:read': { title: 'Read run history', means: 'All that agents said and did here.' },
  'trace:write': {
    title: 'Add to run history',
    means:
      'It can add, and change nothing that is there. It can go on with work of others, with the files it left.',
  },
}

const connector = /^connector:([a-z0-9_-]+):(read|exec)$/
const skill = /^tool:execute:([a-z0-9_-]+)$/

export function scopeWords(scope: string): ScopeWords {
  const words = known[scope]
  if (words) return words
  const [, app, access] = connector.exec(scope) ?? []
  if (app && access === 'read')
    return { title: `Read from ${named(app)}`, means: 'See what you can see there.' }
  if (app) return { title: `Make changes on ${named(app)}`, means: 'Act there in your name.' }
  const [, slug] = skill.exec(scope) ?? []
  if (slug) return { title: `Run the skill ${slug}`, means: 'Start this one skill. Each run costs credits.' }
  return { title: `Do something new: ${scope}`, means: 'This app does not know it. Treat it as sensitive.' }
}

/** Apps spell themselves in ways that no rule gives. */
const spelled: Readonly<Record<string, string>> = { github: 'GitHub', gitlab: 'GitLab', youtube: 'YouTube' }

function named(app: string): string {
  return spelled[app] ?? app.charAt(0).toUpperCase() + app.slice(1)
}
