// Printed from the contract by "npm run sdk". Do not edit.
import type { CallOptions } from '../client.ts'
import type { Operation } from '../operation.ts'
import { list, type Pager } from '../pager.ts'
import { Resource } from '../resource.ts'
import type {
  Attachment,
  InstalledSkill,
  Open,
  Skill,
  SkillVersion,
  Success,
  ValidatedSkill,
} from './records.ts'

/** What {@link listSkills} can be asked for. */
export interface ListSkillsQuery {
  /** 1 to 1000; what lies outside is read as the nearest */
  limit?: number | undefined
  /** Items to pass over; counts with limit */
  offset?: number | undefined
}

/** What {@link listSkills} answers. */
export type ListSkillsAnswer =
  | Skill[]
  | {
      items: Skill[]
      total: number
      limit: number
      offset: number
      hasMore: boolean
    }

/**
 * The library: everything as a bare array, or one page when limit is given.
 *
 * A page tells `total` and `hasMore`; the whole list is sent as it is read.
 */
export const listSkills: Operation<{ query?: ListSkillsQuery | undefined }, ListSkillsAnswer> = {
  name: 'listSkills',
  path: '/api/v1/skills',
  page: 'offset',
}

/**
 * One skill of the library.
 *
 * With the whole SKILL.md and what a person should look at before running it.
 */
export const getSkill: Operation<{ params: { slug: string } }, Skill> = {
  name: 'getSkill',
  path: '/api/v1/skills/:slug',
}

/** What is sent to {@link validateSkill}. */
export interface ValidateSkillBody {
  /** Lower-case letters, digits, hyphens */
  slug?: string | undefined
  files?:
    | {
        path: string
        content: string
        encoding?: 'utf8' | 'base64' | undefined
      }[]
    | undefined
}

/**
 * What would become of these files as a skill; nothing is kept.
 *
 * As JSON, as multipart files[], or as one zip or tar.gz in the field bundle. A skill of the same name, or of `slug`, is what asksForMore compares with.
 */
export const validateSkill: Operation<{ body: ValidateSkillBody | FormData }, ValidatedSkill> = {
  name: 'validateSkill',
  path: '/api/v1/skills/validate',
  method: 'POST',
  uploads: true,
}

/** What is sent to {@link installSkill}. */
export interface InstallSkillBody {
  artifactId?: string | undefined
  name?: string | undefined
  description?: string | undefined
  category?: string | undefined
  registry?: string | undefined
}

/**
 * Install from the catalog, an artifact or another registry; what was there becomes an older version.
 *
 * `asksForMore` tells what the new version wants and the old did not. 429 EXECUTION_RUNNING: wait as retry-after says.
 */
export const installSkill: Operation<
  { params: { slug: string }; body?: InstallSkillBody | undefined },
  InstalledSkill
> = { name: 'installSkill', path: '/api/v1/skills/:slug/install', method: 'POST', creates: true }

/**
 * Take a skill out of the library.
 *
 * 404 when it is not installed; 429 EXECUTION_RUNNING: wait as retry-after says.
 */
export const uninstallSkill: Operation<{ params: { slug: string } }, Success> = {
  name: 'uninstallSkill',
  path: '/api/v1/skills/:slug/uninstall',
  method: 'POST',
}

/**
 * Every version of a skill, newest first.
 *
 * One of them is `active`; restore makes another one so.
 */
export const listSkillVersions: Operation<{ params: { slug: string } }, SkillVersion[]> = {
  name: 'listSkillVersions',
  path: '/api/v1/skills/:slug/versions',
}

/** What {@link restoreSkillVersion} answers. */
export interface RestoreSkillVersionAnswer {
  success: true
  restoredFrom: number
  skill: {
    slug: string
    contentChecksum: string
  }
}

/**
 * Make an earlier version the newest again; nothing is deleted.
 *
 * Adds a version with the old content. What runs at the moment goes on with what it began with.
 */
export const restoreSkillVersion: Operation<
  { params: { slug: string; versionNumber: string } },
  RestoreSkillVersionAnswer
> = {
  name: 'restoreSkillVersion',
  path: '/api/v1/skills/:slug/versions/:versionNumber/restore',
  method: 'POST',
  creates: true,
}

/** What {@link diffSkillVersions} can be asked for. */
export interface DiffSkillVersionsQuery {
  from?: number | undefined
  to?: number | undefined
}

/** What {@link diffSkillVersions} answers. */
export interface DiffSkillVersionsAnswer {
  slug: string
  from: number
  to: number
  files: {
    path: string
    change: Open<'added' | 'removed' | 'changed'>
    /** Null for what is not compared; omitted says why */
    diff: string | null
    /** over-budget: what one request may compare was used up by the files before it */
    omitted?: Open<'binary' | 'too-large' | 'too-different' | 'over-budget'>
  }[]
}

/**
 * What changed between two versions, as unified diffs; by default between the last two.
 *
 * Files too large or too different to compare are named without a diff. 429: compare fewer at a time.
 */
export const diffSkillVersions: Operation<
  { params: { slug: string }; query?: DiffSkillVersionsQuery | undefined },
  DiffSkillVersionsAnswer
> = { name: 'diffSkillVersions', path: '/api/v1/skills/:slug/diff' }

/**
 * The live version as a zip in the Agent Skills format.
 *
 * Can be uploaded again as an artifact, here or elsewhere.
 */
export const exportSkill: Operation<{ params: { slug: string } }, Response> = {
  name: 'exportSkill',
  path: '/api/v1/skills/:slug/bundle',
  answers: 'file',
}

/** What is sent to {@link install}. */
export interface InstallBody {
  source:
    | {
        type: 'git'
        url: string
        ref?: string | undefined
        path?: string | undefined
      }
    | {
        type: 'r2'
        key: string
        checksum?: string | undefined
      }
  kind?: 'skill' | 'workflow' | undefined
  /** Lower-case letters, digits, hyphens */
  slug?: string | undefined
  name?: string | undefined
  description?: string | undefined
  category?: string | undefined
}

/** What {@link install} answers. */
export interface InstallAnswer {
  kind: Open<'skill' | 'workflow'>
  slug: string
  source: unknown
  filesCount: number
  contentChecksum: string
  skill?: InstalledSkill
  workflow?: unknown
}

/**
 * Fetch a skill or a workflow from a git repository or from the import folder, and install it.
 *
 * Names the commit that was taken. 400 says what is wrong with the source, 404 that nothing is there.
 */
export const install: Operation<{ body: InstallBody }, InstallAnswer> = {
  name: 'install',
  path: '/api/v1/install',
  method: 'POST',
  creates: true,
}

/** What is sent to {@link runSkill}. */
export interface RunSkillBody {
  /** What the skill is asked to do; it may be empty */
  input: string
  attachments?: Attachment[] | undefined
  connector?: Record<string, unknown> | undefined
  /** In Ds */
  maxCost?: number | undefined
  /** When another execution works: refuse, or wait for its turn */
  ifBusy?: 'reject' | 'queue' | undefined
  source?: string | undefined
  /** Where it was asked for, in any words */
  interface?: string | undefined
}

/** What {@link runSkill} answers. */
export interface RunSkillAnswer {
  executionId: string
  skillName: string
  status: Open<'started' | 'queued'>
  message: string
  /** A path: asked for text/event-stream it is the stream, otherwise it answers a signed address of it */
  sseUrl: string
  details?: {
    connector: {
      available: boolean
      message: string
    }
  }
}

/**
 * Start a skill at once; watch it through its stream.
 *
 * Watch it at sseUrl. 402: add credits. 403 lists missing_scopes: ask with agents/request-permission. 429 EXECUTION_RUNNING: wait, or send it with ifBusy `queue`: then it waits its turn.
 */
export const runSkill: Operation<{ params: { slug: string }; body: RunSkillBody }, RunSkillAnswer> = {
  name: 'runSkill',
  path: '/api/v1/skills/:slug/run',
  method: 'POST',
  creates: true,
  namesAgent: true,
}

/** One method for each of these operations. */
export class Skills extends Resource {
  /**
   * The library: everything as a bare array, or one page when limit is given.
   *
   * A page tells `total` and `hasMore`; the whole list is sent as it is read.
   */
  list(query?: ListSkillsQuery, options?: CallOptions): Pager<Skill> {
    return list(
      this.client,
      { name: 'listSkills', path: '/api/v1/skills', page: 'offset' },
      { query },
      options,
    )
  }
  /**
   * One skill of the library.
   *
   * With the whole SKILL.md and what a person should look at before running it.
   */
  get(slug: string, options?: CallOptions): Promise<Skill> {
    return this.client.call({ name: 'getSkill', path: '/api/v1/skills/:slug' }, { params: { slug } }, options)
  }
  /**
   * What would become of these files as a skill; nothing is kept.
   *
   * As JSON, as multipart files[], or as one zip or tar.gz in the field bundle. A skill of the same name, or of `slug`, is what asksForMore compares with.
   */
  validate(body: ValidateSkillBody | FormData, options?: CallOptions): Promise<ValidatedSkill> {
    return this.client.call(
      { name: 'validateSkill', path: '/api/v1/skills/validate', method: 'POST', uploads: true },
      { body },
      options,
    )
  }
  /**
   * Install from the catalog, an artifact or another registry; what was there becomes an older version.
   *
   * `asksForMore` tells what the new version wants and the old did not. 429 EXECUTION_RUNNING: wait as retry-after says.
   */
  install(slug: string, body?: InstallSkillBody, options?: CallOptions): Promise<InstalledSkill> {
    return this.client.call(
      { name: 'installSkill', path: '/api/v1/skills/:slug/install', method: 'POST', creates: true },
      { params: { slug }, body },
      options,
    )
  }
  /**
   * Take a skill out of the library.
   *
   * 404 when it is not installed; 429 EXECUTION_RUNNING: wait as retry-after says.
   */
  uninstall(slug: string, options?: CallOptions): Promise<Success> {
    return this.client.call(
      { name: 'uninstallSkill', path: '/api/v1/skills/:slug/uninstall', method: 'POST' },
      { params: { slug } },
      options,
    )
  }
  /**
   * Every version of a skill, newest first.
   *
   * One of them is `active`; restore makes another one so.
   */
  versions(slug: string, options?: CallOptions): Promise<SkillVersion[]> {
    return this.client.call(
      { name: 'listSkillVersions', path: '/api/v1/skills/:slug/versions' },
      { params: { slug } },
      options,
    )
  }
  /**
   * Make an earlier version the newest again; nothing is deleted.
   *
   * Adds a version with the old content. What runs at the moment goes on with what it began with.
   */
  restore(slug: string, versionNumber: string, options?: CallOptions): Promise<RestoreSkillVersionAnswer> {
    return this.client.call(
      {
        name: 'restoreSkillVersion',
        path: '/api/v1/skills/:slug/versions/:versionNumber/restore',
        method: 'POST',
        creates: true,
      },
      { params: { slug, versionNumber } },
      options,
    )
  }
  /**
   * What changed between two versions, as unified diffs; by default between the last two.
   *
   * Files too large or too different to compare are named without a diff. 429: compare fewer at a time.
   */
  diff(
    slug: string,
    query?: DiffSkillVersionsQuery,
    options?: CallOptions,
  ): Promise<DiffSkillVersionsAnswer> {
    return this.client.call(
      { name: 'diffSkillVersions', path: '/api/v1/skills/:slug/diff' },
      { params: { slug }, query },
      options,
    )
  }
  /**
   * The live version as a zip in the Agent Skills format.
   *
   * Can be uploaded again as an artifact, here or elsewhere.
   */
  export(slug: string, options?: CallOptions): Promise<Response> {
    return this.client.call(
      { name: 'exportSkill', path: '/api/v1/skills/:slug/bundle', answers: 'file' },
      { params: { slug } },
      options,
    )
  }
  /**
   * Fetch a skill or a workflow from a git repository or from the import folder, and install it.
   *
   * Names the commit that was taken. 400 says what is wrong with the source, 404 that nothing is there.
   */
  installFrom(body: InstallBody, options?: CallOptions): Promise<InstallAnswer> {
    return this.client.call(
      { name: 'install', path: '/api/v1/install', method: 'POST', creates: true },
      { body },
      options,
    )
  }
}
