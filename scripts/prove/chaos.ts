import { type Proof, system, violations } from './proof.ts'

/** What must hold whatever happens, in whichever order. */
export const chaos: readonly Proof[] = [
  {
    name: 'mcp-kills',
    claim:
      'Calls and tasks of MCP clients have one result and one run each while processes are killed at any moment.',
    size: '200 calls, 200 tasks',
    minutes: 25,
    needs: [],
    run: { files: system('mcp-kills.proof') },
  },
  {
    name: 'fuzz',
    claim: 'No odd request to any route is answered with a fault, late, or with anything inner.',
    size: '20,000 requests',
    minutes: 10,
    needs: ['quiet'],
    run: { program: 'test/fuzz/main.ts', figures: /^\{|^seed/ },
  },
  {
    name: 'fuzz-in-time',
    claim: 'Odd requests are answered within 250 ms each.',
    size: 'as many as 25 s allow',
    minutes: 1,
    needs: ['quiet'],
    run: { files: system('fuzz') },
  },
  {
    name: 'chaos',
    claim:
      'Under a mixed load and every kind of fault nothing is lost, doubled, charged twice or left behind.',
    size: '200 faults of every kind, 20,000 operations',
    minutes: 55,
    needs: ['root', 'quiet'],
    run: { program: 'test/chaos/main.ts', figures: violations },
  },
  {
    name: 'chaos-short',
    claim: 'The same under one fault of each kind that is over soon.',
    size: '13 faults, 400 operations',
    minutes: 4,
    needs: ['root', 'quiet'],
    run: { files: system('chaos') },
  },
  {
    name: 'chaos-executions',
    claim: 'No execution is lost, doubled or charged twice while parts are killed.',
    size: '200 executions, 60 kills',
    minutes: 8,
    needs: [],
    run: { program: 'test/chaos/executions.ts', figures: violations },
  },
  {
    name: 'chaos-workflows',
    claim: 'No run of a workflow is lost and nothing recorded is done again while processes are killed.',
    size: '500 runs, 80 kills; a node of three lost for good',
    minutes: 12,
    needs: [],
    run: { files: system('workflow-chaos.proof', 'workflow-cluster.proof') },
  },
  {
    name: 'chaos-threads',
    claim: 'No message of a chat is lost or answered twice while processes are killed and stand still.',
    size: '20 senders of 50 messages, 75 s',
    minutes: 4,
    needs: [],
    run: { program: 'test/chaos/threads.ts', figures: violations },
  },
  {
    name: 'chaos-threads-short',
    claim: 'The same with three kills, and a mistake that is planted is found.',
    size: '6 senders of 6 messages, 10 s',
    minutes: 2,
    needs: [],
    run: { files: system('thread-chaos') },
  },
  {
    name: 'chaos-traces',
    claim:
      'Every reader of a trace sees the same turns in the same order while it grows and processes are killed.',
    size: '60 s, a kill every 5 s',
    minutes: 3,
    needs: [],
    run: { program: 'test/chaos/traces.ts', figures: violations },
  },
  {
    name: 'chaos-traces-short',
    claim: 'The same for 10 s, and the variant without the lock is seen to fail.',
    size: '10 s, a kill every 3 s',
    minutes: 1,
    needs: [],
    run: { files: system('trace-merge') },
  },
]
