import { type Proof, server } from './proof.ts'

/** How much fits. */
export const scale: readonly Proof[] = [
  {
    name: 'scale-workflows',
    claim:
      'Runs that wait are held by no worker, and are read, answered and canceled as fast as if they were few.',
    size: '20,000 that ask, 20,000 that sleep',
    minutes: 20,
    needs: ['quiet'],
    run: { program: 'test/chaos/workflow-scale.ts', figures: /p99|MiB|over|\d/ },
  },
  {
    name: 'scale-chats',
    claim:
      'Chats that wait for a person hold nothing, and go on within seconds when many are decided at once.',
    size: '10,000 that wait, 1,000 decided at once',
    minutes: 25,
    needs: ['quiet'],
    run: { program: 'test/chaos/chat-scale.ts', figures: /p99|MiB|over|\d/ },
  },
  {
    name: 'scale-push',
    claim: 'Browsers are told once, or once more after a kill, and soon.',
    size: '10,000 browsers within 60 s',
    minutes: 6,
    needs: ['quiet'],
    run: { files: server('access/push-crashes', 'access/push-services') },
  },
  {
    name: 'scale-traces',
    claim: 'A page of traces takes as long among five million as among one, by every filter.',
    size: '1 and 5 million traces',
    minutes: 30,
    needs: ['quiet'],
    run: { program: 'bench/trace-lists.ts', figures: /required|walk/ },
  },
  {
    name: 'scale-catalog',
    claim: 'The marketplace is read by index, and its whole list is made once.',
    size: '100,000 skills in the marketplace, 10,000 in a library',
    minutes: 3,
    needs: ['quiet'],
    run: { files: server('library/catalog-scale') },
  },
  {
    name: 'compose',
    claim: 'Workflows that are asked for in plain words do what was asked.',
    size: '40 requests',
    minutes: 4,
    needs: [],
    run: { program: 'test/compose/main.ts', figures: /^\d+ of \d+$|WRONG/ },
  },
  {
    name: 'compose-real',
    claim: 'A real model composes them too; it is measured, not tested.',
    size: '40 requests to the model in MODELS',
    minutes: 20,
    needs: ['MODELS'],
    run: { program: 'test/compose/main.ts', args: ['--real'], figures: /^\d+ of \d+$|WRONG/ },
  },
]
