// The house rules of the code as errors. Order matters: a feature may import only the features before it.
const features = [
  'graph',
  'idempotency',
  'users',
  'activity',
  'workspaces',
  'invitations',
  'billing',
  'bus',
  'sockets',
  'keys',
  'sessions',
  'passkeys',
  'activation',
  'approvals',
  'consent',
  'oauth',
  'artifacts',
  'sources',
  'catalog',
  'skills',
  'traces',
  'models',
  'loop',
  'sandbox',
  'executions',
  'agents',
  'tools',
  'workflows',
  'runs',
  'profile',
  'status',
]
const server = '^packages/server/src'

const only = (name, comment, modules, places) => ({
  name,
  comment,
  severity: 'error',
  from: { path: server, pathNot: places },
  to: { path: modules.map((module) => `node_modules/${module}/`) },
})

const direction = features.slice(0, -1).map((feature, index) => ({
  name: `direction-${feature}`,
  comment: `${feature}/ may import only the features listed before it`,
  severity: 'error',
  from: { path: `${server}/${feature}/` },
  to: { path: `${server}/(${features.slice(index + 1).join('|')})/` },
}))

const doors = features.map((feature) => ({
  name: `door-${feature}`,
  comment: `From outside, ${feature}/ is entered through ${feature}.ts; its routes are for app.ts alone, its runner and what it tends for app.ts and work.ts`,
  severity: 'error',
  from: { path: server, pathNot: `${server}/${feature}/` },
  to: {
    path: `${server}/${feature}/`,
    pathNot: [`${server}/${feature}/${feature}\\.ts$`, `${server}/${feature}/(routes|runner|tend)\\.ts$`],
  },
}))

module.exports = {
  forbidden: [
    { name: 'no-cycles', severity: 'error', from: {}, to: { circular: true } },
    { name: 'no-unresolved', severity: 'error', from: {}, to: { couldNotResolve: true } },
    {
      name: 'nothing-imports-server',
      comment:
        'The server is a program, not a library; only its own tests and the yardsticks of bench/ look inside',
      severity: 'error',
      from: { path: '^(packages/(?!server/)|stack/|test/|scripts/)' },
      to: { path: '^packages/server/' },
    },
    {
      name: 'contract-is-alone',
      severity: 'error',
      from: { path: '^packages/contract/' },
      to: { path: '^(packages/(?!contract/)|stack/|test/|bench/)' },
    },
    {
      name: 'contract-runs-anywhere',
      comment: 'Clients import it, in browsers too: TypeBox and nothing else, no part of Node',
      severity: 'error',
      from: { path: '^packages/contract/src/', pathNot: '\\.test\\.ts$' },
      to: { pathNot: '^(packages/contract/src/|node_modules/typebox/)' },
    },
    {
      name: 'contract-without-printer',
      comment: 'Who imports the contract does not get the printer of the OpenAPI document with it',
      severity: 'error',
      from: { path: '^packages/contract/src/(index|routes|events)\\.ts$' },
      to: { path: '^packages/contract/src/openapi/', reachable: true },
    },
    {
      name: 'sources-import-no-tests',
      severity: 'error',
      from: { path: '^packages/[^/]+/src', pathNot: '\\.test\\.ts$' },
      to: { path: '^(packages/[^/]+/test|stack/|test/|bench/|scripts/)' },
    },
    {
      name: 'platform-is-below',
      severity: 'error',
      from: { path: `${server}/platform/` },
      to: { path: `${server}/(?!platform/)` },
    },
    {
      name: 'engine-is-below',
      comment: 'The language of workflows is pure; everything else the engine has done is handed to it',
      severity: 'error',
      from: { path: `${server}/engine/` },
      to: { path: `${server}/(?!platform/|engine/|graph/graph\\.ts)` },
    },
    {
      name: 'operations-know-no-transport',
      comment: 'What an operation is does not depend on who asks for it and how',
      severity: 'error',
      from: { path: `${server}/operations/` },
      to: { path: `${server}/(?!platform/|operations/|engine/|deps\\.ts$)` },
    },
    {
      name: 'http-knows-no-feature',
      severity: 'error',
      from: { path: `${server}/http/` },
      to: { path: `${server}/(?!platform/|operations/|http/|engine/|deps\\.ts$)` },
    },
    {
      name: 'one-memory-of-credentials',
      comment: 'Keys, sessions and tokens are remembered in operations/credential-cache.ts alone',
      severity: 'error',
      from: { path: `${server}/(keys|sessions|oauth)/` },
      to: { path: `${server}/platform/expiring-cache\\.ts$` },
    },
    {
      name: 'routes-are-for-the-app',
      severity: 'error',
      from: { path: server, pathNot: `${server}/(app|features)\\.ts$` },
      to: { path: `${server}/[^/]+/routes\\.ts$` },
    },
    {
      name: 'framework-stays-in-http',
      comment: 'No framework object reaches a feature',
      severity: 'error',
      from: { path: `${server}/(${features.join('|')})/` },
      to: {
        path: `${server}/http/(server|edge|error-handler|authenticate|observe|raw-routes)\\.ts$`,
      },
    },
    {
      name: 'workers-have-no-server',
      comment: 'A worker performs operations without the framework that serves them over HTTP',
      severity: 'error',
      from: { path: `${server}/work(er)?\\.ts$` },
      to: { path: 'node_modules/fastify/', reachable: true },
    },
    only(
      'authorization-server-in-oauth',
      'The authorization server only in oauth/',
      ['oidc-provider', '@types/oidc-provider'],
      `${server}/oauth/`,
    ),
    only('ws-in-http', 'WebSockets only in http/', ['ws', '@types/ws'], `${server}/http/`),
    only('fastify-in-http', 'Fastify only in http/', ['fastify', '@fastify/[^/]+'], `${server}/http/`),
    only(
      'drivers-in-platform-and-stores',
      'Database drivers only in platform/ and in stores',
      ['pg', 'kysely', 'ioredis'],
      [`${server}/platform/`, `${server}/[^/]+/store\\.ts$`, `${server}/[^/]+/(event|tend)-store\\.ts$`],
    ),
    only(
      'storage-driver-in-platform',
      'The S3 client only in platform/',
      ['@aws-sdk/[^/]+'],
      `${server}/platform/`,
    ),
    only(
      'providers-in-models',
      'Model providers only in models/',
      ['ai', '@ai-sdk/[^/]+'],
      `${server}/models/`,
    ),
    only('mime-in-executions', 'Kinds of files only in executions/', ['mime'], `${server}/executions/`),
    only(
      'canonical-json-in-passkeys',
      'What is signed only in passkeys/',
      ['canonicalize'],
      `${server}/passkeys/`,
    ),
    only(
      'lru-cache-for-what-is-compiled',
      'It believes for ever what has no age: never for credentials',
      ['lru-cache'],
      `${server}/(graph|runs)/`,
    ),
    only('restate-in-engine', 'The Restate SDK only in engine/', ['@restatedev/[^/]+'], `${server}/engine/`),
    ...direction,
    ...doors,
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    // They are checked where they are installed.
    exclude: { path: '^bench/peers/' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'node', 'types', 'default'],
      extensions: ['.ts', '.js', '.mjs', '.cjs', '.json'],
    },
  },
}
