export { readRepositoryInput, syncRepository } from './repository.ts'
export { offerShippedCatalog, syncShippedCatalog } from './shipped.ts'
export { findCatalogSkill } from './store.ts'
