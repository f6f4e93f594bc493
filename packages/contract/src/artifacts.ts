import { type Static, Type } from 'typebox'
import { defineRoutes } from './route.ts'
import { IdParam, Limit, Name, Nullable, Success, Timestamp } from './shapes.ts'
import { slugPattern } from './slug.ts'

/** What one bundle may hold, however it is sent. */
export const bundleLimits = { bytes: 10_000_000, files: 500, pathLength: 300, depth: 20 } as const

const ArtifactType = Type.Enum(['skill', 'workflow', 'file'])
export const Slug = Type.String({
  pattern: slugPattern.source,
  description: 'Lower-case letters, digits, hyphens',
})

export const Artifact = Type.Object(
  {
    id: Type.String(),
    type: ArtifactType,
    slug: Type.String(),
    name: Type.String(),
    description: Type.String(),
    filesCount: Type.Number(),
    sizeBytes: Type.Number(),
    contentChecksum: Type.String(),
    files: Type.Array(
      Type.Object({ path: Type.String(), sizeBytes: Type.Number(), checksum: Type.String() }),
    ),
    createdBy: Type.String(),
    createdAt: Timestamp,
  },
  { title: 'Artifact' },
)
export type Artifact = Static<typeof Artifact>

export const ArtifactSummary = Type.Omit(Artifact, ['files'], { title: 'ArtifactSummary' })
export type ArtifactSummary = Static<typeof ArtifactSummary>

/** Files as JSON; they may also come as a form. */
export const GivenFiles = Type.Optional(
  Type.Array(
    Type.Object({
      path: Type.String({ maxLength: 1000 }),
      content: Type.String(),
      encoding: Type.Optional(Type.Enum(['utf8', 'base64'])),
    }),
    { maxItems: bundleLimits.files },
  ),
)
/** Base64 in JSON takes a third more than the bytes it stands for. */
export const givenFilesBytes = 14_500_000

export const artifactRoutes = defineRoutes({
  createArtifact: {
    method: 'POST',
    path: '/api/v1/artifacts',
    summary:
      'Keep a bundle of files: as JSON, as multipart files[], or as one zip or tar.gz in the field bundle',
    description:
      'At most 500 files and 10 MB. 400 names the file that is wrong; 400 with details.limit when the workspace is full.',
    resource: 'artifacts',
    verb: 'create',
    tag: 'artifacts',
    audience: 'credential',
    changes: ['artifacts'],
    scopes: ['workspace:files:write'],
    limits: ['rest'],
    creates: true,
    uploads: true,
    weight: { bytes: givenFilesBytes },
    body: Type.Object({
      type: ArtifactType,
      slug: Type.Optional(Slug),
      name: Type.Optional(Name(120)),
      description: Type.Optional(Type.String({ maxLength: 1024 })),
      files: GivenFiles,
    }),
    responses: { 201: Artifact },
    errors: ['INVALID_INPUT', 'CONFLICT'],
    example: { body: { type: 'file', files: [{ path: 'notes.md', content: 'Hello' }] } },
  },
  listArtifacts: {
    method: 'GET',
    path: '/api/v1/artifacts',
    summary: 'The bundles of this workspace, newest first',
    description: 'Without the files; ask for one bundle to see them. Follow nextCursor until it is null.',
    resource: 'artifacts',
    verb: 'list',
    page: 'cursor',
    tag: 'artifacts',
    audience: 'credential',
    scopes: ['workspace:files:read'],
    limits: ['rest'],
    query: Type.Object({
      type: Type.Optional(ArtifactType),
      limit: Limit(200),
      cursor: Type.Optional(Type.String({ maxLength: 300 })),
    }),
    responses: {
      200: Type.Object({ items: Type.Array(ArtifactSummary), nextCursor: Nullable(Type.String()) }),
    },
    errors: ['INVALID_INPUT'],
  },
  getArtifact: {
    method: 'GET',
    path: '/api/v1/artifacts/:id',
    summary: 'One bundle and the list of its files',
    description: 'A key reads what its own executions made without a scope.',
    resource: 'artifacts',
    verb: 'get',
    tag: 'artifacts',
    audience: 'credential',
    scopesBeyondOwn: ['workspace:files:read'],
    limits: ['rest'],
    params: IdParam,
    responses: { 200: Artifact },
    errors: ['NOT_FOUND'],
  },
  getArtifactContent: {
    method: 'GET',
    path: '/api/v1/artifacts/:id/content',
    summary: 'One file of a bundle; the path may be left out when it has one file',
    description: 'Always sent as a download. 400 when the bundle has several files and none is named.',
    resource: 'artifacts',
    verb: 'content',
    tag: 'artifacts',
    audience: 'credential',
    scopesBeyondOwn: ['workspace:files:read'],
    limits: ['rest'],
    answers: 'file',
    params: IdParam,
    query: Type.Object({ path: Type.Optional(Type.String({ maxLength: 1000 })) }),
    responses: { 200: Type.Any() },
    errors: ['INVALID_INPUT', 'NOT_FOUND'],
  },
  deleteArtifact: {
    method: 'DELETE',
    path: '/api/v1/artifacts/:id',
    summary: 'Remove a bundle; what was installed from it stays',
    description: '404 when it is gone already, so a repeat does no harm.',
    resource: 'artifacts',
    verb: 'delete',
    tag: 'artifacts',
    audience: 'credential',
    changes: ['artifacts'],
    scopes: ['workspace:files:write'],
    limits: ['rest'],
    params: IdParam,
    responses: { 200: Success },
    errors: ['NOT_FOUND'],
  },
})
