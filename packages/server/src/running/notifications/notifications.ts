export { tellThread } from './notify.ts'
export { RunNotices } from './runs.ts'
