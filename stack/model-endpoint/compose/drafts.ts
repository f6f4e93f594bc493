import type { Draft } from './draft.ts'
import { plainDrafts } from './plain-drafts.ts'
import type { RequestName } from './requests.ts'
import { impossibleDrafts, wrongDrafts } from './wrong-drafts.ts'

export const drafts: Readonly<Record<RequestName, Draft>> = {
  ...plainDrafts,
  ...wrongDrafts,
  ...impossibleDrafts,
}
