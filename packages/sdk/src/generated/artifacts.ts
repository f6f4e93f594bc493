// Printed from the contract by "npm run sdk". Do not edit.
import type { CallOptions } from '../client.ts'
import type { Operation } from '../operation.ts'
import { list, type Pager } from '../pager.ts'
import { Resource } from '../resource.ts'
import type { Artifact, ArtifactSummary, Success } from './records.ts'

/** What is sent to {@link createArtifact}. */
export interface CreateArtifactBody {
  type: 'skill' | 'workflow' | 'file'
  /** Lower-case letters, digits, hyphens */
  slug?: string | undefined
  name?: string | undefined
  description?: string | undefined
  files?:
    | {
        path: string
        content: string
        encoding?: 'utf8' | 'base64' | undefined
      }[]
    | undefined
}

/**
 * Keep a bundle of files: as JSON, as multipart files[], or as one zip or tar.gz in the field bundle.
 *
 * At most 500 files and 10 MB. 400 names the file that is wrong; 400 with details.limit when the workspace is full.
 */
export const createArtifact: Operation<{ body: CreateArtifactBody | FormData }, Artifact> = {
  name: 'createArtifact',
  path: '/api/v1/artifacts',
  method: 'POST',
  creates: true,
  uploads: true,
}

/** What {@link listArtifacts} can be asked for. */
export interface ListArtifactsQuery {
  type?: 'skill' | 'workflow' | 'file' | undefined
  /** 1 to 200; what lies outside is read as the nearest */
  limit?: number | undefined
  cursor?: string | undefined
}

/** What {@link listArtifacts} answers. */
export interface ListArtifactsAnswer {
  items: ArtifactSummary[]
  nextCursor: string | null
}

/**
 * The bundles of this workspace, newest first.
 *
 * Without the files; ask for one bundle to see them. Follow nextCursor until it is null.
 */
export const listArtifacts: Operation<{ query?: ListArtifactsQuery | undefined }, ListArtifactsAnswer> = {
  name: 'listArtifacts',
  path: '/api/v1/artifacts',
  page: 'cursor',
}

/**
 * One bundle and the list of its files.
 *
 * A key reads what its own executions made without a scope.
 */
export const getArtifact: Operation<{ params: { id: string } }, Artifact> = {
  name: 'getArtifact',
  path: '/api/v1/artifacts/:id',
}

/** What {@link getArtifactContent} can be asked for. */
export interface GetArtifactContentQuery {
  path?: string | undefined
}

/**
 * One file of a bundle; the path may be left out when it has one file.
 *
 * Always sent as a download. 400 when the bundle has several files and none is named.
 */
export const getArtifactContent: Operation<
  { params: { id: string }; query?: GetArtifactContentQuery | undefined },
  Response
> = { name: 'getArtifactContent', path: '/api/v1/artifacts/:id/content', answers: 'file' }

/**
 * Remove a bundle; what was installed from it stays.
 *
 * 404 when it is gone already, so a repeat does no harm.
 */
export const deleteArtifact: Operation<{ params: { id: string } }, Success> = {
  name: 'deleteArtifact',
  path: '/api/v1/artifacts/:id',
  method: 'DELETE',
}

/** One method for each of these operations. */
export class Artifacts extends Resource {
  /**
   * Keep a bundle of files: as JSON, as multipart files[], or as one zip or tar.gz in the field bundle.
   *
   * At most 500 files and 10 MB. 400 names the file that is wrong; 400 with details.limit when the workspace is full.
   */
  create(body: CreateArtifactBody | FormData, options?: CallOptions): Promise<Artifact> {
    return this.client.call(
      { name: 'createArtifact', path: '/api/v1/artifacts', method: 'POST', creates: true, uploads: true },
      { body },
      options,
    )
  }
  /**
   * The bundles of this workspace, newest first.
   *
   * Without the files; ask for one bundle to see them. Follow nextCursor until it is null.
   */
  list(query?: ListArtifactsQuery, options?: CallOptions): Pager<ArtifactSummary> {
    return list(
      this.client,
      { name: 'listArtifacts', path: '/api/v1/artifacts', page: 'cursor' },
      { query },
      options,
    )
  }
  /**
   * One bundle and the list of its files.
   *
   * A key reads what its own executions made without a scope.
   */
  get(id: string, options?: CallOptions): Promise<Artifact> {
    return this.client.call(
      { name: 'getArtifact', path: '/api/v1/artifacts/:id' },
      { params: { id } },
      options,
    )
  }
  /**
   * One file of a bundle; the path may be left out when it has one file.
   *
   * Always sent as a download. 400 when the bundle has several files and none is named.
   */
  content(id: string, query?: GetArtifactContentQuery, options?: CallOptions): Promise<Response> {
    return this.client.call(
      { name: 'getArtifactContent', path: '/api/v1/artifacts/:id/content', answers: 'file' },
      { params: { id }, query },
      options,
    )
  }
  /**
   * Remove a bundle; what was installed from it stays.
   *
   * 404 when it is gone already, so a repeat does no harm.
   */
  delete(id: string, options?: CallOptions): Promise<Success> {
    return this.client.call(
      { name: 'deleteArtifact', path: '/api/v1/artifacts/:id', method: 'DELETE' },
      { params: { id } },
      options,
    )
  }
}
