import type { Command } from '../command.ts'
import type { Flags } from '../flags.ts'

const perms = () => import('../commands/perms.ts')
const hook = () => import('../commands/hook.ts')

const hookFlags: Flags = {
  otherwise: {
    value: 'WHAT',
    words: 'When nobody answers or the server is away: deny (as when left out) or ask at the terminal',
    choices: ['deny', 'ask'],
  },
}

export const people: readonly Command[] = [
  {
    name: 'ask',
    summary: 'Ask the person something, answered on their phone or here',
    words:
      'Puts a question into the inbox of the person whose key this is, and waits. Nothing is granted by the answer: it is for an act of your own. It is taken back when you stop waiting, and when it is answered at this terminal first.',
    arguments: [{ name: 'QUESTION', words: 'At most 500 characters', optional: true }],
    flags: {
      action: { value: 'TEXT', words: 'What you mean to do, shown verbatim: a command line' },
      'action-file': { value: 'FILE', words: 'The same as JSON: summary, tool, args, diff, target' },
      choice: {
        value: 'ID=LABEL',
        words: 'A choice to offer; deny:ID=LABEL says no, answer:ID=LABEL needs an answer',
        many: true,
      },
      schema: { value: 'FILE', words: 'JSON schema of an answer' },
      'no-wait': { words: 'Print the id and end; go on with --resume' },
      resume: { value: 'ASK', words: 'Wait for the answer to this ask' },
    },
    needs: 'key',
    examples: [
      'guild ask "Push to main?" --action "git push origin main"',
      'guild ask "Which branch?" --choice main=Main --choice deny:none=None --wait=5m --json',
    ],
    exits: [5, 6, 9, 12, 13],
    load: async () => (await import('../commands/ask.ts')).ask,
  },
  {
    name: 'hook claude-code',
    summary: "Answer Claude Code's permission prompts on your phone",
    words:
      "A PreToolUse (or PermissionRequest) hook: reads the call from stdin, asks the person with the tool input verbatim, and answers allow, deny or ask as that program expects. If nobody answers, the server is away or there is no key, the call is refused and the reason says so. Wait less than the hook's own timeout: a hook that the program gives up on does not refuse anything.",
    flags: { ...hookFlags, 'print-settings': { words: 'Print what belongs into .claude/settings.json' } },
    needs: 'key',
    examples: [
      'guild hook claude-code --print-settings',
      'guild hook claude-code --wait=540s < call.json',
      'guild hook claude-code --otherwise ask < call.json',
    ],
    exits: [],
    failsClosed: true,
    load: async () => (await hook()).claudeCode,
  },
  {
    name: 'hook generic',
    summary: 'The same for any agent that can run a command',
    words:
      'Reads {"tool", "args", "summary"?, "cwd"?} from stdin and prints {"decision": "allow"|"deny"|"ask", "reason", "args"?}. Exit code 0 and only 0 means yes; where args are given, the person changed the call and means these.',
    flags: { ...hookFlags, 'print-settings': { words: "Print Claude Code's settings as an example" } },
    needs: 'key',
    examples: ['echo \'{"tool":"bash","args":{"command":"git push"}}\' | guild hook generic --wait=5m'],
    exits: [5, 6],
    load: async () => (await hook()).generic,
  },
  {
    name: 'perms list',
    summary: 'Scopes that this key holds',
    needs: 'key',
    examples: ['guild perms list', 'guild perms list --json'],
    exits: [9],
    load: async () => (await perms()).list,
  },
  {
    name: 'perms ask',
    summary: 'Ask a person for a scope',
    arguments: [{ name: 'SCOPE', words: 'Such as tool:execute:weekly-report', many: true }],
    flags: {
      reason: { value: 'TEXT', words: 'Why, as the person will read it' },
      mode: { value: 'MODE', words: 'For how long', choices: ['once', 'session', 'always'] },
      action: { value: 'FILE', words: 'What you mean to do, as JSON, shown verbatim' },
    },
    needs: 'key',
    examples: ['guild perms ask connector:gmail:read --reason "read last week\'s invoices" --wait'],
    exits: [5, 6, 9, 12, 13],
    load: async () => (await perms()).ask,
  },
  {
    name: 'perms declare',
    summary: 'Ask for several scopes on one card; a new key begins with this',
    arguments: [{ name: 'SCOPE', words: 'What the key needs', many: true }],
    needs: 'key',
    examples: ['guild perms declare agent:list tool:execute --wait'],
    exits: [5, 6, 9, 13],
    load: async () => (await perms()).declare,
  },
  {
    name: 'perms wait',
    summary: 'Wait for the decision on a request',
    arguments: [{ name: 'ID', words: 'What perms ask printed' }],
    needs: 'key',
    examples: ['guild perms wait req_51c --wait=30m'],
    exits: [3, 5, 6, 9],
    load: async () => (await perms()).wait,
  },
  {
    name: 'perms revoke',
    summary: 'Take a scope away from a key',
    arguments: [{ name: 'SCOPE', words: 'Which one' }],
    flags: { key: { value: 'ID', words: 'Which key; the current one unless told' } },
    needs: 'person',
    examples: ['guild perms revoke tool:execute --key 12'],
    exits: [3, 9],
    load: async () => (await perms()).revoke,
  },
]
