export { OAuthCheck } from './check.ts'
export { authorizationServer } from './endpoints.ts'
export { claimGrantEnds as endGrantsOfMember } from './grant-store.ts'
export { deleteUndecided as endUndecidedConsents, findLiveGrants } from './store.ts'
