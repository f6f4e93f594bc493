import type { Requirement } from './requirement.ts'

export const marketplace = [
  {
    id: 'marketplace:item:fields',
    area: 'marketplace',
    line: 110,
    rule: 'Every element of GET /marketplace/skills has strings slug, name, category, description and repository.',
    kind: 'field',
  },
  {
    id: 'marketplace:detail:fields',
    area: 'marketplace',
    line: 110,
    rule: 'GET /marketplace/skills/:slug has the five strings of a list item and in addition strings author, version and prompt.',
    kind: 'field',
  },
  {
    id: 'marketplace:category:fields',
    area: 'marketplace',
    line: 114,
    rule: 'Every element of GET /marketplace/skills/categories has strings id and name and a number count.',
    kind: 'field',
  },
  {
    id: 'marketplace:category:count-matches',
    area: 'marketplace',
    line: 114,
    rule: 'count of each category equals how many skills GET /marketplace/skills returns when filtered by it without limit.',
    kind: 'field',
  },
  {
    id: 'marketplace:list:bare-array',
    area: 'marketplace',
    line: 331,
    rule: 'GET /marketplace/skills answers with an array at the top level, with limit as well as without.',
    kind: 'format',
  },
  {
    id: 'marketplace:list:limit-no-default',
    area: 'marketplace',
    line: 331,
    rule: 'Without limit GET /marketplace/skills returns the whole catalog (as many as all category counts together); offset skips that many, with limit and without it, and is 0 when left out.',
    kind: 'field',
  },
  {
    id: 'marketplace:list:category-filter',
    area: 'marketplace',
    line: 331,
    rule: 'With category= every returned skill is of that category; a category no skill has gives [].',
    kind: 'field',
  },
  {
    id: 'marketplace:categories:not-a-slug',
    area: 'marketplace',
    line: 332,
    rule: 'GET /marketplace/skills/categories is always the array of categories, never a skill called categories nor a 404.',
    kind: 'format',
  },
  {
    id: 'marketplace:detail:by-slug',
    area: 'marketplace',
    line: 333,
    rule: 'GET /marketplace/skills/:slug with a slug from the list answers the skill with that slug.',
    kind: 'field',
  },
  {
    id: 'marketplace:detail:unknown-404',
    area: 'marketplace',
    line: 533,
    rule: 'GET /marketplace/skills/:slug with a made-up slug is 404 with error.code NOT_FOUND in the standard envelope.',
    kind: 'error',
  },
] as const satisfies readonly Requirement[]
