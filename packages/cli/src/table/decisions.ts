import type { Command } from '../command.ts'
import { listFlags } from '../flags.ts'

const approvals = () => import('../commands/approvals.ts')
const keys = () => import('../commands/keys.ts')
const approval = { name: 'ID', words: 'Id of an approval' } as const
const key = { name: 'ID', words: 'Id of a key' } as const

/** For people: each signs in for as long as it takes. */
export const decisions: readonly Command[] = [
  {
    name: 'approvals list',
    summary: 'What waits for you',
    flags: {
      ...listFlags,
      status: {
        value: 'STATE',
        words: 'pending unless told',
        choices: ['pending', 'granted', 'denied', 'expired'],
      },
      kind: {
        value: 'KIND',
        words: 'Only these',
        choices: ['activation', 'consent', 'permission', 'workflow', 'budget', 'tool', 'ask'],
      },
    },
    needs: 'person',
    examples: ['guild approvals list --kind ask'],
    exits: [9],
    load: async () => (await approvals()).list,
  },
  {
    name: 'approvals show',
    summary: 'One of them: fact, claim, and what was sent word for word',
    arguments: [approval],
    needs: 'person',
    examples: ['guild approvals show req_51c'],
    exits: [3, 9],
    load: async () => (await approvals()).show,
  },
  {
    name: 'approvals deny',
    summary: 'Say no',
    arguments: [approval],
    flags: { reason: { value: 'TEXT', words: 'Told to the agent' } },
    needs: 'person',
    examples: ['guild approvals deny req_51c --reason "not now"'],
    exits: [3, 9, 12],
    load: async () => (await approvals()).deny,
  },
  {
    name: 'approvals approve',
    summary: 'Say yes to what needs no passkey, at a terminal',
    words:
      'Shows what is asked and wants the word typed. Neither --yes nor GUILD_AUTH_TOKEN is enough, and an agent cannot do it. What is sensitive is approved in the app, with your passkey.',
    arguments: [approval],
    flags: {
      mode: { value: 'MODE', words: 'session unless told', choices: ['once', 'session', 'always'] },
      scopes: { value: 'SCOPES', words: 'Only these of them', many: true },
      data: { value: 'JSON', words: 'What a step of a workflow is told' },
      amount: { value: 'DS', words: 'By how much a limit is raised' },
    },
    needs: 'person',
    examples: ['guild approvals approve req_51c --mode once'],
    exits: [3, 5, 6, 9, 12],
    load: async () => (await approvals()).approve,
  },
  {
    name: 'approvals watch',
    summary: 'See what comes, and decide by lines: d 1 denies, o 1 opens the app, a 1 allows, q ends',
    needs: 'person',
    streams: true,
    examples: ['guild approvals watch', 'guild approvals watch --json'],
    exits: [9, 130, 143],
    load: async () => (await import('../commands/approvals-watch.ts')).watch,
  },
  {
    name: 'keys list',
    summary: 'Your keys',
    needs: 'person',
    examples: ['guild keys list'],
    exits: [9],
    load: async () => (await keys()).list,
  },
  {
    name: 'keys create',
    summary: 'Make a key; it goes to stdout alone',
    flags: {
      label: { value: 'TEXT', words: 'What it is for' },
      scopes: { value: 'SCOPES', words: 'What it may do, with commas', many: true },
      full: { words: 'Everything' },
      expires: { value: 'TIME', words: 'Such as 90d' },
      'spend-limit': { value: 'DS', words: 'How much it may spend' },
    },
    needs: 'person',
    examples: ['guild keys create --label ci --scopes tool:execute --expires 90d'],
    exits: [5, 9, 12, 13],
    load: async () => (await keys()).create,
  },
  {
    name: 'keys rotate',
    summary: 'Give a key a new secret',
    arguments: [key],
    needs: 'person',
    examples: ['guild keys rotate 12'],
    exits: [3, 5, 9, 12],
    load: async () => (await keys()).rotate,
  },
  {
    name: 'keys revoke',
    summary: 'End a key for good',
    arguments: [key],
    flags: { 'stop-running': { words: 'Also stop what it has started' } },
    needs: 'person',
    examples: ['guild keys revoke 12 --stop-running --yes'],
    exits: [3, 9],
    load: async () => (await keys()).revoke,
  },
  {
    name: 'keys report-leak',
    summary: 'Report a key that was found; needs no credential',
    needs: 'none',
    examples: ['guild keys report-leak --base-url https://guild.example < found.txt'],
    exits: [9, 11, 13],
    load: async () => (await keys()).reportLeak,
  },
]
