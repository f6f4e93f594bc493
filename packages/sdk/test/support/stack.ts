import { inject } from 'vitest'
import { createCaller } from '../../../../test/support/caller.ts'

export const { baseUrl, databaseUrl, dir, pageOrigin } = inject('libraryStack')
/** People, keys and decisions, over the API and not through the library under test. */
export const app = createCaller(baseUrl)
