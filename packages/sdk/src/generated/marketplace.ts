// Printed from the contract by "npm run sdk". Do not edit.
import type { CallOptions } from '../client.ts'
import type { Operation } from '../operation.ts'
import { list, type Pager } from '../pager.ts'
import { Resource } from '../resource.ts'
import type { MarketplaceSkill, MarketplaceSkillDetail } from './records.ts'

/** What {@link listMarketplaceSkills} can be asked for. */
export interface ListMarketplaceSkillsQuery {
  /** 1 to 1000; what lies outside is read as the nearest */
  limit?: number | undefined
  /** Items to pass over */
  offset?: number | undefined
  category?: string | undefined
  /** Full-text search */
  q?: string | undefined
}

/**
 * The catalog in the order of slugs, without limit to its end; a search by relevance, at most 1000.
 *
 * Answers an ETag: send it as If-None-Match and get 304 while nothing changed.
 */
export const listMarketplaceSkills: Operation<
  { query?: ListMarketplaceSkillsQuery | undefined },
  MarketplaceSkill[]
> = {
  name: 'listMarketplaceSkills',
  path: '/api/v1/marketplace/skills',
  public: true,
  page: 'offset',
  items: '',
}

/** What {@link listMarketplaceCategories} answers. */
export type ListMarketplaceCategoriesAnswer = {
  id: string
  name: string
  count: number
}[]

/**
 * The categories of the catalog and how many skills each has.
 *
 * Their ids are what the parameter `category` of the list takes.
 */
export const listMarketplaceCategories: Operation<object, ListMarketplaceCategoriesAnswer> = {
  name: 'listMarketplaceCategories',
  path: '/api/v1/marketplace/skills/categories',
  public: true,
}

/**
 * One skill of the catalog.
 *
 * With its whole prompt, to be read before it is installed.
 */
export const getMarketplaceSkill: Operation<{ params: { slug: string } }, MarketplaceSkillDetail> = {
  name: 'getMarketplaceSkill',
  path: '/api/v1/marketplace/skills/:slug',
  public: true,
}

/**
 * A skill of the catalog as a zip; the header x-commit-hash says which state it is.
 *
 * What an install of it would take.
 */
export const getMarketplaceBundle: Operation<{ params: { slug: string } }, Response> = {
  name: 'getMarketplaceBundle',
  path: '/api/v1/marketplace/skills/:slug/bundle',
  public: true,
  answers: 'file',
}

/** One method for each of these operations. */
export class Marketplace extends Resource {
  /**
   * The catalog in the order of slugs, without limit to its end; a search by relevance, at most 1000.
   *
   * Answers an ETag: send it as If-None-Match and get 304 while nothing changed.
   */
  search(query?: ListMarketplaceSkillsQuery, options?: CallOptions): Pager<MarketplaceSkill> {
    return list(
      this.client,
      {
        name: 'listMarketplaceSkills',
        path: '/api/v1/marketplace/skills',
        public: true,
        page: 'offset',
        items: '',
      },
      { query },
      options,
    )
  }
  /**
   * The categories of the catalog and how many skills each has.
   *
   * Their ids are what the parameter `category` of the list takes.
   */
  categories(options?: CallOptions): Promise<ListMarketplaceCategoriesAnswer> {
    return this.client.call(
      { name: 'listMarketplaceCategories', path: '/api/v1/marketplace/skills/categories', public: true },
      {},
      options,
    )
  }
  /**
   * One skill of the catalog.
   *
   * With its whole prompt, to be read before it is installed.
   */
  get(slug: string, options?: CallOptions): Promise<MarketplaceSkillDetail> {
    return this.client.call(
      { name: 'getMarketplaceSkill', path: '/api/v1/marketplace/skills/:slug', public: true },
      { params: { slug } },
      options,
    )
  }
  /**
   * A skill of the catalog as a zip; the header x-commit-hash says which state it is.
   *
   * What an install of it would take.
   */
  bundle(slug: string, options?: CallOptions): Promise<Response> {
    return this.client.call(
      {
        name: 'getMarketplaceBundle',
        path: '/api/v1/marketplace/skills/:slug/bundle',
        public: true,
        answers: 'file',
      },
      { params: { slug } },
      options,
    )
  }
}
