import { type Static, Type } from 'typebox'
import { GivenFiles, givenFilesBytes, Slug } from './artifacts.ts'
import { defineRoutes } from './route.ts'
import { Extended, Limit, Name, Offset, Success, Timestamp } from './shapes.ts'

/** Keeps the bare list of a library bounded. */
export const skillsPerWorkspace = 10_000

const VersionNumber = Type.Integer({ minimum: 1, maximum: 2 ** 31 - 1 })
const SlugParam = Type.Object({ slug: Type.String() })

export const SkillWarning = Type.Object(
  {
    code: Type.String(),
    path: Type.Optional(Type.String()),
    message: Type.String(),
  },
  { title: 'SkillWarning' },
)
export type SkillWarning = Static<typeof SkillWarning>

export const Skill = Type.Object(
  {
    name: Type.String(),
    slug: Type.String(),
    description: Type.String(),
    category: Type.String(),
    prompt: Type.String({ description: 'The whole SKILL.md' }),
    bundleType: Type.String({ description: 'folder, or file where the bundle is SKILL.md alone' }),
    storagePath: Type.String(),
    repository: Type.Optional(
      Type.String({ description: 'Where the catalog has it from, if it came from one' }),
    ),
    commitHash: Type.Optional(Type.String()),
    fetchedFrom: Type.Optional(
      Type.Object(
        { repository: Type.String(), commitHash: Type.String() },
        { description: 'The git repository and its commit, if it was installed from one' },
      ),
    ),
    filesCount: Type.Number(),
    versionNumber: Type.Number(),
    contentChecksum: Type.String(),
    warnings: Type.Array(SkillWarning, { description: 'What a person should look at before running it' }),
  },
  { title: 'Skill' },
)
export type Skill = Static<typeof Skill>

const AsksForMore = Type.Optional(
  Type.Object(
    { allowedTools: Type.Array(Type.String()), scopes: Type.Array(Type.String()) },
    { description: 'What this version asks for and the one before did not' },
  ),
)

export const InstalledSkill = Extended(Skill, 'InstalledSkill', { asksForMore: AsksForMore })
export type InstalledSkill = Static<typeof InstalledSkill>

export const ValidatedSkill = Type.Object(
  {
    valid: Type.Boolean({ description: 'Whether it could be installed' }),
    issues: Type.Array(Type.Object({ message: Type.String(), path: Type.Optional(Type.String()) }), {
      description: 'Why not; what follows the first is not looked at',
    }),
    warnings: Type.Array(SkillWarning, { description: 'What a person should look at before running it' }),
    name: Type.Optional(Type.String()),
    description: Type.Optional(Type.String()),
    filesCount: Type.Optional(Type.Number()),
    sizeBytes: Type.Optional(Type.Number()),
    asksForMore: AsksForMore,
  },
  { title: 'ValidatedSkill' },
)
export type ValidatedSkill = Static<typeof ValidatedSkill>

export const SkillVersion = Type.Object(
  {
    id: Type.Number(),
    workspaceId: Type.String(),
    skillId: Type.Number(),
    versionNumber: Type.Number(),
    contentChecksum: Type.String(),
    storagePath: Type.String(),
    bundleType: Type.String(),
    prompt: Type.String(),
    name: Type.String(),
    description: Type.String(),
    createdBy: Type.String(),
    note: Type.Unsafe<string | null>({ type: ['string', 'null'] }),
    createdAt: Timestamp,
    active: Type.Boolean(),
  },
  { title: 'SkillVersion' },
)
export type SkillVersion = Static<typeof SkillVersion>

const text = (maxLength: number) => Type.Optional(Type.String({ minLength: 1, maxLength }))

export const skillRoutes = defineRoutes({
  listSkills: {
    method: 'GET',
    path: '/api/v1/skills',
    summary: 'The library: everything as a bare array, or one page when limit is given',
    description: 'A page tells `total` and `hasMore`; the whole list is sent as it is read.',
    resource: 'skills',
    verb: 'list',
    page: 'offset',
    tag: 'skills',
    audience: 'credential',
    limits: ['rest'],
    answers: 'json',
    query: Type.Object({
      limit: Limit(1000),
      offset: Offset('Items to pass over; counts with limit'),
    }),
    responses: {
      200: Type.Union([
        Type.Array(Skill),
        Type.Object({
          items: Type.Array(Skill),
          total: Type.Number(),
          limit: Type.Number(),
          offset: Type.Number(),
          hasMore: Type.Boolean(),
        }),
      ]),
    },
    errors: ['INVALID_INPUT'],
  },
  getSkill: {
    method: 'GET',
    path: '/api/v1/skills/:slug',
    summary: 'One skill of the library',
    description: 'With the whole SKILL.md and what a person should look at before running it.',
    resource: 'skills',
    verb: 'get',
    tag: 'skills',
    audience: 'credential',
    limits: ['rest'],
    params: SlugParam,
    responses: { 200: Skill },
    errors: ['NOT_FOUND'],
  },
  validateSkill: {
    method: 'POST',
    path: '/api/v1/skills/validate',
    summary: 'What would become of these files as a skill; nothing is kept',
    description:
      'As JSON, as multipart files[], or as one zip or tar.gz in the field bundle. A skill of the same name, or of `slug`, is what asksForMore compares with.',
    resource: 'skills',
    verb: 'validate',
    tag: 'skills',
    audience: 'credential',
    changes: [],
    limits: ['rest'],
    uploads: true,
    weight: { bytes: givenFilesBytes },
    body: Type.Object({ slug: Type.Optional(Slug), files: GivenFiles }),
    responses: { 200: ValidatedSkill },
    errors: ['INVALID_INPUT'],
    example: {
      body: {
        files: [{ path: 'SKILL.md', content: '---\nname: notes\ndescription: Takes notes.\n---\nDo it.\n' }],
      },
    },
  },
  installSkill: {
    method: 'POST',
    path: '/api/v1/skills/:slug/install',
    summary:
      'Install from the catalog, an artifact or another registry; what was there becomes an older version',
    description:
      '`asksForMore` tells what the new version wants and the old did not. 429 EXECUTION_RUNNING: wait as retry-after says.',
    resource: 'skills',
    verb: 'install',
    tag: 'skills',
    audience: 'credential',
    changes: ['skills'],
    scopes: ['workspace:files:write'],
    limits: ['rest'],
    creates: true,
    params: SlugParam,
    optionalBody: true,
    body: Type.Object({
      artifactId: text(100),
      name: Type.Optional(Name(120)),
      description: text(1024),
      category: text(64),
      registry: text(2000),
    }),
    responses: { 200: InstalledSkill },
    errors: ['INVALID_INPUT', 'NOT_FOUND', 'EXECUTION_RUNNING', 'INTERNAL_ERROR'],
    example: { body: { artifactId: 'artifact_4kq2' } },
  },
  uninstallSkill: {
    method: 'POST',
    path: '/api/v1/skills/:slug/uninstall',
    summary: 'Take a skill out of the library',
    description: '404 when it is not installed; 429 EXECUTION_RUNNING: wait as retry-after says.',
    resource: 'skills',
    verb: 'uninstall',
    tag: 'skills',
    audience: 'credential',
    changes: ['skills'],
    scopes: ['workspace:files:write'],
    limits: ['rest'],
    params: SlugParam,
    responses: { 200: Success },
    errors: ['NOT_FOUND', 'EXECUTION_RUNNING'],
  },
  listSkillVersions: {
    method: 'GET',
    path: '/api/v1/skills/:slug/versions',
    summary: 'Every version of a skill, newest first',
    description: 'One of them is `active`; restore makes another one so.',
    resource: 'skills',
    verb: 'versions',
    page: 'bare',
    tag: 'skills',
    audience: 'credential',
    limits: ['rest'],
    answers: 'json',
    params: SlugParam,
    responses: { 200: Type.Array(SkillVersion) },
    errors: ['NOT_FOUND'],
  },
  restoreSkillVersion: {
    method: 'POST',
    path: '/api/v1/skills/:slug/versions/:versionNumber/restore',
    summary: 'Make an earlier version the newest again; nothing is deleted',
    description:
      'Adds a version with the old content. What runs at the moment goes on with what it began with.',
    resource: 'skills',
    verb: 'restore',
    creates: true,
    tag: 'skills',
    audience: 'credential',
    changes: ['skills'],
    scopes: ['workspace:files:write'],
    limits: ['rest'],
    params: Type.Object({ slug: Type.String(), versionNumber: Type.String() }),
    responses: {
      200: Type.Object({
        success: Type.Literal(true),
        restoredFrom: Type.Number(),
        skill: Type.Object({ slug: Type.String(), contentChecksum: Type.String() }),
      }),
    },
    errors: ['INVALID_INPUT', 'NOT_FOUND'],
    example: {
      answers: {
        200: { success: true, restoredFrom: 1, skill: { slug: 'weekly-report', contentChecksum: '9f86d0…' } },
      },
    },
  },
  diffSkillVersions: {
    method: 'GET',
    path: '/api/v1/skills/:slug/diff',
    summary: 'What changed between two versions, as unified diffs; by default between the last two',
    description:
      'Files too large or too different to compare are named without a diff. 429: compare fewer at a time.',
    resource: 'skills',
    verb: 'diff',
    tag: 'skills',
    audience: 'credential',
    scopes: ['workspace:files:read'],
    limits: ['rest'],
    params: SlugParam,
    query: Type.Object({
      from: Type.Optional(VersionNumber),
      to: Type.Optional(VersionNumber),
    }),
    responses: {
      200: Type.Object({
        slug: Type.String(),
        from: Type.Number(),
        to: Type.Number(),
        files: Type.Array(
          Type.Object({
            path: Type.String(),
            change: Type.Enum(['added', 'removed', 'changed']),
            diff: Type.Unsafe<string | null>({
              type: ['string', 'null'],
              description: 'Null for what is not compared; omitted says why',
            }),
            omitted: Type.Optional(
              Type.Enum(['binary', 'too-large', 'too-different', 'over-budget'], {
                description: 'over-budget: what one request may compare was used up by the files before it',
              }),
            ),
          }),
        ),
      }),
    },
    errors: ['INVALID_INPUT', 'NOT_FOUND', 'RATE_LIMITED'],
    example: {
      answers: {
        200: {
          slug: 'weekly-report',
          from: 1,
          to: 2,
          files: [{ path: 'SKILL.md', change: 'changed', diff: '-Write it.\n+Write it well.\n' }],
        },
      },
    },
  },
  exportSkill: {
    method: 'GET',
    path: '/api/v1/skills/:slug/bundle',
    summary: 'The live version as a zip in the Agent Skills format',
    description: 'Can be uploaded again as an artifact, here or elsewhere.',
    resource: 'skills',
    verb: 'export',
    tag: 'skills',
    audience: 'credential',
    scopes: ['workspace:files:read'],
    limits: ['rest'],
    answers: 'file',
    params: SlugParam,
    responses: { 200: Type.Any() },
    errors: ['NOT_FOUND'],
  },
  install: {
    method: 'POST',
    path: '/api/v1/install',
    summary: 'Fetch a skill or a workflow from a git repository or from the import folder, and install it',
    description:
      'Names the commit that was taken. 400 says what is wrong with the source, 404 that nothing is there.',
    resource: 'skills',
    verb: 'installFrom',
    tag: 'skills',
    audience: 'credential',
    changes: ['skills', 'workflows'],
    scopes: ['workspace:files:write'],
    limits: ['rest'],
    creates: true,
    body: Type.Object({
      source: Type.Union([
        Type.Object({
          type: Type.Literal('git'),
          url: Type.String({ minLength: 1, maxLength: 2000 }),
          ref: text(200),
          path: text(300),
        }),
        Type.Object({
          type: Type.Literal('r2'),
          key: Type.String({ minLength: 1, maxLength: 500 }),
          checksum: Type.Optional(Type.String({ pattern: '^[0-9a-f]{64}$' })),
        }),
      ]),
      kind: Type.Optional(Type.Enum(['skill', 'workflow'])),
      slug: Type.Optional(Slug),
      name: Type.Optional(Name(120)),
      description: text(1024),
      category: text(64),
    }),
    responses: {
      201: Type.Object({
        kind: Type.Enum(['skill', 'workflow']),
        slug: Type.String(),
        source: Type.Unknown(),
        filesCount: Type.Number(),
        contentChecksum: Type.String(),
        skill: Type.Optional(InstalledSkill),
        workflow: Type.Optional(Type.Unknown()),
      }),
    },
    errors: ['INVALID_INPUT', 'NOT_FOUND', 'EXECUTION_RUNNING'],
    example: {
      body: { source: { type: 'git', url: 'https://example.com/skills.git', path: 'weekly-report' } },
      answers: {
        201: {
          kind: 'skill',
          slug: 'weekly-report',
          source: { type: 'git' },
          filesCount: 1,
          contentChecksum: '9f86d0…',
        },
      },
    },
  },
})
