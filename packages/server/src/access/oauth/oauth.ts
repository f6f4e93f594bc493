export { OAuthCheck } from './check.ts'
export { authorizationServer } from './endpoints.ts'
export { findLiveGrants } from './store.ts'
