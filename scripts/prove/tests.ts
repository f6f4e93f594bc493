import { type Proof, server, system } from './proof.ts'

/** What must hold of every operation, of every race, kill and freeze, looked at one by one. */
export const tests: readonly Proof[] = [
  {
    name: 'peers-types',
    claim:
      'What compares us with others is typed; their declarations take longer to read than a gate allows.',
    size: 'bench/peers',
    minutes: 1,
    needs: ['peers'],
    run: {
      program: 'node_modules/typescript/bin/tsc',
      args: ['--noEmit', '-p', 'bench/peers'],
      figures: /error/,
    },
  },
  {
    name: 'perform',
    claim: 'An operation does, answers, refuses and leaves the same, whichever way it is called.',
    size: 'every operation, every refusal',
    minutes: 5,
    needs: [],
    run: { files: server('operations/perform') },
  },
  {
    name: 'permission-model',
    claim: 'The server and a model of permissions agree after every step of random histories.',
    size: '2,000 histories',
    minutes: 5,
    needs: [],
    run: { files: server('access/permission-model') },
  },
  {
    name: 'foreign-fields',
    claim:
      'No id of a stranger, in any field of any request, does anything to them or shows anything of theirs.',
    size: 'every kind of id in every field',
    minutes: 15,
    needs: [],
    run: { files: server('house/isolation/foreign-fields', 'house/isolation/unnamed-fields') },
  },
  {
    name: 'sandbox',
    claim: 'Nothing gets out of a sandbox, and nothing of it outlives it or its worker.',
    size: '100 trees and 400 broken starts in bubblewrap, 30 and 40 in runc, 10 and 20 in runsc',
    minutes: 6,
    needs: ['root'],
    run: {
      files: server(
        'machinery/sandbox/broken-starts',
        'machinery/sandbox/ending',
        'machinery/sandbox/escape',
      ),
    },
  },
  {
    name: 'graphs',
    claim:
      'A workflow comes to the same with a crash at any point, and no legal definition holds the process.',
    size: '3,000 random graphs, a crash at each of their points',
    minutes: 3,
    needs: ['quiet'],
    run: {
      files: server(
        'machinery/graph/crashes',
        'machinery/graph/growing',
        'machinery/graph/hostile',
        'library/workflow-definitions',
        'machinery/evaluators',
      ),
    },
  },
  {
    name: 'storage',
    claim: 'What was stored is there, once and whole, whatever the store does meanwhile.',
    size: '2,500 blobs; Swift killed and away',
    minutes: 8,
    needs: [],
    run: {
      files: [
        ...server('platform/storage', 'platform/storage-directory', 'library/skill-content'),
        ...system('storage', 'storage-faults'),
      ],
    },
  },
  {
    name: 'secrets-at-rest',
    claim:
      'No secret that was given out stands readable in the database, in Redis, in the engine or in a log.',
    size: '300 pairings',
    minutes: 2,
    needs: [],
    run: { files: system('secrets-at-rest') },
  },
  {
    name: 'app',
    claim:
      'Every decision and outcome is shown on every shape of screen, and everybody can use it, day and night.',
    size: 'every kind of request, every outcome, every shape',
    minutes: 15,
    needs: ['chromium'],
    run: { files: ['test/e2e/'] },
  },
  {
    name: 'races',
    claim: 'Of any number who do the same at once over several processes one wins, and all are told who.',
    size: '500 rounds each; 500 starts, 200 writes at once',
    minutes: 25,
    needs: [],
    run: {
      files: system(
        'races',
        'permission-races',
        'workflow-races',
        'skill-races',
        'execution-races',
        'execution-spending',
        'oauth',
        'receipts',
      ),
    },
  },
  {
    name: 'kills',
    claim: 'A process that is killed in the middle of a change leaves it done or not begun.',
    size: '50 kills in installs, 100 canceled trees, 12 places of a chat 20 times',
    minutes: 25,
    needs: ['root'],
    run: { files: system('skill-crashes', 'execution-cancel', 'thread-crashes') },
  },
  {
    name: 'faults',
    claim:
      'Parts that are killed, away or frozen cost what they must and nothing more, and are used again when back.',
    size: '3 kills each of PostgreSQL and Redis; 20 s frozen',
    minutes: 10,
    needs: ['quiet'],
    run: {
      files: [
        ...system('faults', 'frozen-parts', 'mcp-frozen', 'workflow-frozen.proof', 'stack'),
        ...server('house/hung-engine', 'operations/stalls', 'running/trace-frozen'),
      ],
    },
  },
  {
    name: 'storms',
    claim:
      'Thousands of streams that come back at once keep nobody else waiting, and none of them misses an event.',
    size: '2,500 streams, 2,000 sockets, 500 readers that read nothing',
    minutes: 8,
    needs: ['quiet'],
    run: {
      files: [
        ...system('stream-storm', 'live', 'trace-costs'),
        ...server(
          'streams/execution-stream',
          'streams/event-log',
          'transports/live-ends',
          'transports/live',
          'transports/doors',
        ),
      ],
    },
  },
  {
    name: 'weight',
    claim: 'Nobody waits for what is heaviest of what others may send and ask for.',
    size: 'sixty bodies of 1 and of 7 MB, forty reads of a run of 14.7 MB, sixty lists of such runs, sixty times twenty attachments of 9.9 MB; of every route the heaviest requests it lets in, sixty of the one that costs most',
    minutes: 20,
    needs: ['quiet'],
    run: {
      files: [
        ...system('weight.proof'),
        ...server(
          'transports/slow-clients',
          'house/heaviest',
          'house/heaviest-writes',
          'house/heaviest-reads',
        ),
        'packages/server/test/house/heaviest.proof.ts',
      ],
    },
  },
  {
    name: 'endings',
    claim: 'Access that has ended ends what stands on it within its time, in every process.',
    size: 'keys, sessions, grants, memberships, each kind of connection',
    minutes: 5,
    needs: ['quiet'],
    run: {
      files: [
        ...server(
          'access/keys',
          'access/oauth',
          'access/oauth-consent',
          'access/key-stops',
          'access/permissions',
          'accounts/signed-in-ends',
          'house/access-ended',
          'running/thread-fences',
        ),
        'test/conformance/consent-connect.test.ts',
      ],
    },
  },
  {
    name: 'waits',
    claim: 'What is waited for is told when it happens, and a stream beats and ends when it should.',
    size: 'heartbeats of 25 s, streams that stay open half a minute',
    minutes: 8,
    needs: ['quiet'],
    run: {
      files: [
        ...['skill-run', 'threads', 'workflow-stream'].map((name) => `test/conformance/${name}.test.ts`),
        ...server(
          'access/asks',
          'access/pairing-scopes',
          'access/self',
          'running/trace-tenants',
          'house/told',
        ),
      ],
    },
  },
  {
    name: 'hostile-input',
    claim:
      'No bundle, document, repository, address or text from outside holds a process or fills its memory.',
    size: 'the hostile corpora',
    minutes: 6,
    needs: ['quiet'],
    run: {
      files: [
        ...system('hostile-bundles.proof'),
        ...server(
          'library/catalog',
          'library/sources/hostile-addresses',
          'library/sources/hostile-git',
          'library/sources/registry',
          'platform/strangers-names',
          'access/inbox-pages',
          'access/oauth-documents',
          'machinery/tools',
          'machinery/models',
        ),
        'test/patterns/patterns.test.ts',
        'packages/server/src/library/artifacts/skill-file.test.ts',
        'packages/server/src/library/skills/compare.test.ts',
        'packages/server/src/library/sources/lint.test.ts',
      ],
    },
  },
  {
    name: 'whole-stacks',
    claim:
      'What a stack is started for works with every protocol of a model and every example that is shown.',
    size: 'both protocols, all examples, 26 workflows of the corpus',
    minutes: 8,
    needs: [],
    run: {
      files: [
        ...system('agent-steps', 'model-protocols', 'readme', 'workflow-corpus'),
        'packages/cli/test/examples.test.ts',
      ],
    },
  },
  {
    name: 'clients',
    claim: 'The library and the program lose nothing over connections that break, and show no secret.',
    size: 'every lost answer 100 times, streams cut 50 times in 20 rounds, 10,000 errors',
    minutes: 40,
    needs: [],
    run: {
      files: [
        ...server('house/sdk-lost-answers', 'house/sdk-pages'),
        'packages/sdk/src/secrets.test.ts',
        'packages/sdk/src/sse.test.ts',
        'packages/sdk/src/event-stream.test.ts',
        'packages/sdk/test/healing.test.ts',
        'packages/sdk/test/cut-streams.test.ts',
        'packages/sdk/test/silent-streams.test.ts',
        'packages/cli/test/cut-runs.test.ts',
        'packages/cli/test/agents.test.ts',
        'packages/cli/test/hook-closed.test.ts',
        'packages/cli/test/keyring.test.ts',
      ],
    },
  },
  {
    name: 'mcp',
    claim:
      'Calls, tasks, questions and streams of MCP clients survive restarts, outages and people who take their time.',
    size: '10,000 calls of 50 clients, 200 questions, 1,000 listeners, every bit of the sealed words',
    minutes: 30,
    needs: [],
    run: {
      files: [
        ...system('mcp'),
        ...server(
          'transports/mcp-many',
          'transports/mcp-elicitations',
          'transports/mcp-late',
          'transports/mcp-bridge',
        ),
      ],
    },
  },
  {
    name: 'mcp-fuzz',
    claim: 'No made-up message of the Model Context Protocol brings out a fault or anything inner.',
    size: '100,000 messages',
    minutes: 10,
    needs: [],
    run: { files: server('transports/mcp-hostile') },
  },
]
