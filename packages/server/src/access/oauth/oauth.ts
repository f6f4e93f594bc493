export { OAuthCheck } from './check.ts'
export { authorizationServer } from './endpoints.ts'
export { claimGrantEnds as endGrantsOfMember, findLiveGrants } from './store.ts'
