import type { Command } from '../command.ts'
import { listFlags } from '../flags.ts'

const account = () => import('../commands/account.ts')
const profile = () => import('../commands/profile.ts')
const artifacts = () => import('../commands/artifacts.ts')
const artifact = { name: 'ID', words: 'Id of an upload' } as const

export const accountCommands: readonly Command[] = [
  {
    name: 'workspace list',
    summary: 'Workspaces that you belong to',
    needs: 'person',
    examples: ['guild workspace list'],
    exits: [9],
    load: async () => (await account()).workspaces,
  },
  {
    name: 'workspace use',
    summary: 'Act in another workspace, with the key that is stored for it',
    arguments: [{ name: 'ID', words: 'Its id, or its name' }],
    needs: 'none',
    examples: ['guild workspace use Builds'],
    exits: [3],
    load: async () => (await account()).useWorkspace,
  },
  {
    name: 'workspace create',
    summary: 'Make a workspace for a team',
    arguments: [{ name: 'NAME', words: 'What it is called' }],
    needs: 'person',
    examples: ['guild workspace create Builds'],
    exits: [5, 9, 13],
    load: async () => (await account()).createWorkspace,
  },
  {
    name: 'profile get',
    summary: 'What agents may know of you',
    needs: 'key',
    examples: ['guild profile get --json'],
    exits: [5, 9],
    load: async () => (await profile()).get,
  },
  {
    name: 'profile set',
    summary: 'Change it; nothing after the = takes a fact away',
    arguments: [{ name: 'K=V', words: 'name, bio, timezone, or a fact of any other name', many: true }],
    needs: 'key',
    examples: ['guild profile set timezone=Europe/Vienna "favourite tea=green"'],
    exits: [5, 9, 13],
    load: async () => (await profile()).set,
  },
  {
    name: 'artifacts list',
    summary: 'What was uploaded',
    flags: {
      ...listFlags,
      type: { value: 'TYPE', words: 'Only these', choices: ['skill', 'workflow', 'file'] },
    },
    needs: 'key',
    examples: ['guild artifacts list --type skill'],
    exits: [5, 9],
    load: async () => (await artifacts()).list,
  },
  {
    name: 'artifacts get',
    summary: 'One of them, with its files',
    arguments: [artifact],
    needs: 'key',
    examples: ['guild artifacts get artifact_2d --json'],
    exits: [3, 5, 9],
    load: async () => (await artifacts()).get,
  },
  {
    name: 'artifacts download',
    summary: 'Its files, or one of them',
    arguments: [artifact, { name: 'PATH', words: 'One file of it', optional: true }],
    flags: { output: { value: 'DIR', short: 'o', words: 'Into this folder; here unless told' } },
    needs: 'key',
    examples: ['guild artifacts download artifact_2d -o copy'],
    exits: [1, 3, 5, 9],
    load: async () => (await artifacts()).download,
  },
  {
    name: 'artifacts rm',
    summary: 'Remove an upload; what was installed from it stays',
    arguments: [artifact],
    needs: 'key',
    examples: ['guild artifacts rm artifact_2d'],
    exits: [3, 5, 9, 12],
    load: async () => (await artifacts()).remove,
  },
]
