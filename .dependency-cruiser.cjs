// The house rules of the code as errors. The order of floors.json matters: each place may import only those before it.
const floors = require('./packages/server/floors.json')
const server = '^packages/server/src'

const only = (name, comment, modules, places) => ({
  name,
  comment,
  severity: 'error',
  from: { path: server, pathNot: places },
  to: { path: modules.map((module) => `node_modules/${module}/`) },
})

/** Groups whose files stand in them directly are places too; the name of a place is that of its folder. */
const places = Object.entries(floors).flatMap(([group, features]) => [
  ...(['platform', 'operations', 'streams'].includes(group) ? [{ name: group, path: group }] : []),
  ...features.map((name) => ({ name, path: `${group}/${name}` })),
])
const at = (name) => `${server}/${places.find((place) => place.name === name).path}`
const below = (path) => places.filter((place) => place.path.startsWith(`${path}/`)).map((place) => place.path)

const direction = places.slice(0, -1).map(({ name, path }, index) => ({
  name: `direction-${name}`,
  comment: `${path}/ may import only what floors.json lists before it, and what stands within it`,
  severity: 'error',
  from: { path: `${server}/${path}/`, pathNot: below(path).map((each) => `${server}/${each}/`) },
  to: {
    path: `${server}/(${places
      .slice(index + 1)
      .map((place) => place.path)
      .filter((each) => !below(path).includes(each))
      .join('|')})/`,
  },
}))

const openPlaces = ['platform', 'operations', 'http', 'engine']
const doors = places
  .filter(({ name }) => !openPlaces.includes(name))
  .map(({ name, path }) => ({
    name: `door-${name}`,
    comment: `From outside, ${path}/ is entered through ${name}.ts; its routes are for features.ts, its runner for work.ts`,
    severity: 'error',
    from: { path: server, pathNot: `${server}/${path}/` },
    to: {
      path: `${server}/${path}/`,
      pathNot: [`${server}/${path}/${name}\\.ts$`, `${server}/${path}/(routes|runner)\\.ts$`],
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
      name: 'sdk-is-alone',
      comment:
        'Who installs it gets nothing else: what it needs of the contract is printed by scripts/sdk.ts',
      severity: 'error',
      from: { path: '^packages/sdk/src/', pathNot: '\\.test\\.ts$' },
      to: { pathNot: ['^packages/sdk/src/', '^(node:)?[a-z/_]+$'] },
    },
    {
      name: 'sdk-runs-anywhere',
      comment: 'In browsers and workers too: parts of Node only below node/',
      severity: 'error',
      from: { path: '^packages/sdk/src/', pathNot: ['^packages/sdk/src/node/', '\\.test\\.ts$'] },
      to: { dependencyTypes: ['core'] },
    },
    {
      name: 'clients-know-no-contract',
      comment: 'What clients need of it the SDK has; whoever imports both could not be installed apart',
      severity: 'error',
      from: { path: '^packages/(sdk|cli|web)/', pathNot: '\\.test\\.ts$' },
      to: { path: '^packages/(contract|server)/' },
    },
    {
      name: 'app-speaks-by-the-sdk',
      comment: 'Of the repository the app knows the SDK and nothing else',
      severity: 'error',
      from: { path: '^packages/web/src/' },
      to: { path: '^(packages/(?!web/|sdk/)|stack/|test/|bench/|scripts/)' },
    },
    {
      name: 'app-parts-are-below',
      comment: 'Parts are put together in screens; what asks the server knows neither',
      severity: 'error',
      from: { path: '^packages/web/src/parts/' },
      to: { path: '^packages/web/src/(screens/|routes\\.tsx|main\\.tsx)' },
    },
    {
      name: 'app-api-is-below',
      severity: 'error',
      from: { path: '^packages/web/src/api/' },
      to: { path: '^packages/web/src/(screens|parts)/' },
    },
    {
      name: 'passkeys-in-one-place',
      comment: 'Loaded when a passkey is wanted and not before',
      severity: 'error',
      from: { path: '^packages/web/src/', pathNot: '^packages/web/src/screens/passkey[^/]*$' },
      to: { path: 'node_modules/@simplewebauthn/' },
    },
    {
      name: 'sources-import-no-tests',
      severity: 'error',
      from: { path: '^packages/[^/]+/src', pathNot: '\\.test\\.ts$' },
      to: { path: '^(packages/[^/]+/test|stack/|test/|bench/|scripts/)' },
    },
    {
      name: 'programs-are-above',
      comment:
        'What is put together in the programs is handed down; a place knows deps.ts and no other of them',
      severity: 'error',
      from: { path: `${server}/.+/` },
      to: { path: `${server}/[^/]+\\.ts$` },
    },
    {
      name: 'engine-is-below',
      comment: 'The language of workflows is pure; everything else the engine has done is handed to it',
      severity: 'error',
      from: { path: `${at('engine')}/` },
      to: { path: `${server}/(?!platform/|machinery/engine/|machinery/graph/graph\\.ts)` },
    },
    {
      name: 'one-memory-of-credentials',
      comment: 'Keys, sessions and tokens are remembered in operations/credential-cache.ts alone',
      severity: 'error',
      from: { path: [`${at('keys')}/`, `${at('sessions')}/`, `${at('oauth')}/`] },
      to: { path: `${server}/platform/expiring-cache\\.ts$` },
    },
    {
      name: 'sockets-for-the-api',
      comment: 'What only says or awaits something takes a Bus; what is held open goes through streams/',
      severity: 'error',
      from: { path: server, pathNot: `${server}/(transports/sockets/|streams/|app\\.ts$|features\\.ts$)` },
      to: { path: `${at('sockets')}/` },
    },
    {
      name: 'routes-are-for-features',
      severity: 'error',
      from: { path: server, pathNot: `${server}/features\\.ts$` },
      to: { path: `${server}/.+/routes\\.ts$` },
    },
    {
      name: 'framework-stays-in-http',
      comment: 'No framework object reaches a feature',
      severity: 'error',
      from: { path: server, pathNot: [`${at('http')}/`, `${server}/(app|main|start)\\.ts$`] },
      to: {
        path: `${at('http')}/(server|edge|error-handler|authenticate|observe|raw-routes)\\.ts$`,
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
      `${at('oauth')}/`,
    ),
    only('ws-in-http', 'WebSockets only in http/', ['ws', '@types/ws'], `${at('http')}/`),
    only('fastify-in-http', 'Fastify only in http/', ['fastify', '@fastify/[^/]+'], `${at('http')}/`),
    only(
      'drivers-in-platform-and-stores',
      'Database drivers only in platform/ and in stores',
      ['pg', 'kysely', 'ioredis'],
      [
        `${server}/platform/`,
        `${server}/.+/store\\.ts$`,
        `${server}/.+/(address|event|freeze|reconcile|secret|client|fetch|grant|handover|inbox|list|outbox|question|queue|read|run|settings|step|touched|wait|version)-store\\.ts$`,
      ],
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
      `${at('models')}/`,
    ),
    only(
      'mime-in-platform',
      'What the name of a file says is known in platform/media-type.ts alone',
      ['mime'],
      `${server}/platform/media-type\\.ts$`,
    ),
    only(
      'canonical-json-in-platform',
      'How a value is written that is signed or hashed is known in platform/canonical.ts alone',
      ['canonicalize'],
      `${server}/platform/canonical\\.ts$`,
    ),
    only(
      'lru-cache-for-what-is-compiled',
      'It believes for ever what has no age: never for credentials',
      ['lru-cache'],
      [`${at('graph')}/`, `${at('runs')}/`],
    ),
    only('restate-in-engine', 'The Restate SDK only in engine/', ['@restatedev/[^/]+'], `${at('engine')}/`),
    ...direction,
    ...doors,
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    // Peers are checked where they are installed; what is built from the sources is not looked at again.
    exclude: { path: ['^bench/peers/', '^packages/[^/]+/dist'] },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'node', 'types', 'default'],
      extensions: ['.ts', '.tsx', '.js', '.mjs', '.cjs', '.json'],
    },
  },
}
