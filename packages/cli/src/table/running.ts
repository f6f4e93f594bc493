import type { Command } from '../command.ts'
import { listFlags } from '../flags.ts'

const exec = () => import('../commands/exec.ts')
const id = { name: 'ID', words: 'Id of an execution', completes: 'executions' } as const
const output = { value: 'DIR', short: 'o', words: 'Write the files it made below this folder' } as const
const noExitStatus = { words: 'Exit with 0 however it ended' } as const
const maxCost = { value: 'DS', words: 'Stop when it has cost this much' } as const
const runExits = [1, 3, 5, 6, 7, 8, 9, 10, 12, 13, 130, 143] as const

export const running: readonly Command[] = [
  {
    name: 'run',
    summary: 'Run a skill and watch it',
    words:
      'The first ^C leaves it running, a second within two seconds stops it. Piped, stdout holds the final text alone. With --json each event is a line and the last one is guild.result.',
    arguments: [
      { name: 'SKILL', words: 'An installed skill', completes: 'skills' },
      { name: 'INPUT', words: 'What it should do; - for stdin', optional: true, many: true },
    ],
    flags: {
      file: { value: 'FILE', short: 'f', words: 'Read the input from a file' },
      attach: { value: 'FILE', many: true, words: 'Send a file along; at most 10 MB together' },
      output,
      'max-cost': maxCost,
      queue: { words: 'Wait for the slot of the workspace instead of failing' },
      detach: { words: 'Print the id and end; it runs on' },
      hold: { words: 'Make it, but do not start it' },
      'idempotency-key': { value: 'KEY', words: 'Repeat it within 24 hours without starting another' },
      'no-deltas': { words: 'Whole messages only' },
      'cancel-on-interrupt': { words: 'The first ^C stops it, on a terminal' },
      'no-exit-status': noExitStatus,
    },
    needs: 'key',
    streams: true,
    examples: [
      'guild run weekly-report "last 7 days" --attach orders.csv -o ./out',
      'guild run weekly-report "last 7 days" --json | tail -1',
      'guild run weekly-report - --max-cost 200 < question.txt',
    ],
    exits: runExits,
    load: async () => (await import('../commands/run.ts')).run,
  },
  {
    name: 'exec list',
    summary: 'What has run here',
    flags: {
      ...listFlags,
      status: { value: 'STATE', words: 'idle, working, completed or failed' },
      skill: { value: 'SLUG', words: 'Of this skill' },
      source: { value: 'NAME', words: 'Started from here, such as cli' },
    },
    needs: 'key',
    examples: ['guild exec list', 'guild exec list --status working --json'],
    exits: [9],
    load: async () => (await exec()).list,
  },
  {
    name: 'exec show',
    summary: 'How one stands and what came out',
    arguments: [id],
    needs: 'key',
    examples: ['guild exec show exec_8fk2', 'guild exec show exec_8fk2 --get outputBlocks.0.text'],
    exits: [3, 9],
    load: async () => (await exec()).show,
  },
  {
    name: 'exec watch',
    summary: 'Replay one and follow it; ^C never touches it',
    arguments: [id],
    flags: { from: { value: 'SEQ', words: 'Begin after this event' }, 'no-exit-status': noExitStatus },
    needs: 'key',
    streams: true,
    examples: ['guild exec watch exec_8fk3'],
    exits: [1, 3, 7, 9, 10, 130, 143],
    load: async () => (await exec()).watch,
  },
  {
    name: 'exec message',
    summary: 'Start one that was held',
    arguments: [id, { name: 'TEXT', words: 'What it should do', many: true }],
    flags: { 'max-cost': maxCost, queue: { words: 'Wait for the slot of the workspace' } },
    needs: 'key',
    examples: ['guild exec message exec_8fk4 "go"'],
    exits: [3, 5, 7, 8, 9, 12, 13],
    load: async () => (await exec()).message,
  },
  {
    name: 'exec cancel',
    summary: 'Stop one, with its processes',
    arguments: [id],
    needs: 'key',
    examples: ['guild exec cancel exec_8fk3'],
    exits: [3, 5, 9, 12],
    load: async () => (await exec()).cancel,
  },
  {
    name: 'exec rerun',
    summary: 'Run the same skill again',
    arguments: [
      id,
      { name: 'INPUT', words: 'Another input; the same unless told', optional: true, many: true },
    ],
    flags: {
      'max-cost': maxCost,
      output,
      detach: { words: 'Print the id and end' },
      'no-exit-status': noExitStatus,
    },
    needs: 'key',
    streams: true,
    examples: ['guild exec rerun exec_8fk2 "last 30 days"'],
    exits: runExits,
    load: async () => (await exec()).rerun,
  },
  {
    name: 'exec files',
    summary: 'Files that one made',
    arguments: [id],
    flags: { output },
    needs: 'key',
    examples: ['guild exec files exec_8fk2 -o out'],
    exits: [1, 3, 5, 9],
    load: async () => (await exec()).files,
  },
]
