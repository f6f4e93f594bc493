import type { Command } from '../command.ts'

const auth = () => import('../commands/auth.ts')

export const signIn: readonly Command[] = [
  {
    name: 'login',
    summary: 'Pair this computer with a person: get a key of its own',
    words:
      "Says first where the key will be kept, then shows a code that a person confirms in the app, on any device. The key is an agent's: it can do what people allow it and cannot approve for itself. In two steps for agents and scripts: --no-wait shows the code, --resume waits.",
    arguments: [{ name: 'URL', words: 'Address of the deployment', optional: true }],
    flags: {
      label: { value: 'TEXT', words: 'How the person sees this key; "guild on HOST" unless told' },
      scopes: {
        value: 'SCOPES',
        words: 'What to ask for: read, run, author, or scopes with commas',
        many: true,
      },
      storage: { value: 'WHERE', words: 'Where to keep the key', choices: ['auto', 'keyring', 'file'] },
      'no-browser': { words: 'Do not offer to open a browser' },
      'no-qr': { words: 'Draw no QR code' },
      'no-wait': { words: 'Show the code and end; go on with --resume' },
      resume: { words: 'Wait for the login that --no-wait or ^C left' },
      'with-key': { words: 'Read a key from stdin instead of pairing' },
      person: { words: 'Sign in as a person with a browser, to see that it works' },
      keep: { words: "With --person: keep the session in this computer's keyring; refused without one" },
    },
    needs: 'none',
    examples: [
      'guild login https://guild.example --scopes run',
      'guild login https://guild.example --no-wait --json',
      'guild login --resume --json',
      'guild login https://guild.example --with-key < key.txt',
      'guild login --person --keep',
    ],
    exits: [4, 5, 6, 9, 11, 12],
    load: async () => (await import('../commands/login.ts')).login,
  },
  {
    name: 'logout',
    summary: 'Forget the stored key, and end it',
    flags: {
      all: { words: 'Every profile' },
      'keep-key': { words: 'Forget it here only; it goes on to exist' },
    },
    needs: 'none',
    examples: ['guild logout', 'guild logout --all', 'guild logout --keep-key'],
    exits: [4],
    load: async () => (await import('../commands/logout.ts')).logout,
  },
  {
    name: 'whoami',
    summary: 'What this key is and may do right now',
    needs: 'key',
    examples: ['guild whoami', 'guild whoami --json=scopes', 'guild whoami --get workspace.id'],
    exits: [9],
    load: async () => (await auth()).whoami,
  },
  {
    name: 'auth status',
    summary: 'Stored keys, where they are kept and whether they work',
    flags: { all: { words: 'Every profile' } },
    needs: 'none',
    examples: ['guild auth status --all'],
    exits: [4],
    load: async () => (await auth()).authStatus,
  },
  {
    name: 'auth token',
    summary: 'Print the key, for a program that cannot ask guild',
    flags: { show: { words: 'Also on a terminal' } },
    needs: 'key',
    examples: ['guild auth token | docker login --password-stdin registry.example'],
    exits: [],
    load: async () => (await auth()).authToken,
  },
  {
    name: 'auth switch',
    summary: 'Use another stored key from now on',
    arguments: [{ name: 'PROFILE', words: 'Its name', completes: 'profiles' }],
    needs: 'none',
    examples: ['guild auth switch ci'],
    exits: [3],
    load: async () => (await auth()).authSwitch,
  },
]
