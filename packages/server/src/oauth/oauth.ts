export { OAuthCheck } from './check.ts'
export { authorizationServer } from './endpoints.ts'
export { deleteEndedRecords, findLiveGrants } from './store.ts'
