import type { Reconciler } from '#platform/reconcile.ts'
import type { Sweep } from '#platform/sweep.ts'
import type { BoundRoute } from './bind.ts'

/** What a feature gives to the programs: each of them is put together of the same features, and takes what it needs. */
export interface Feature {
  readonly routes?: readonly BoundRoute[]
  readonly sweeps?: readonly Sweep[]
  readonly reconcilers?: readonly Reconciler[]
}

/** Of several features, all they give. */
export function joinFeatures(features: readonly Feature[]): Required<Feature> {
  return {
    routes: features.flatMap(({ routes = [] }) => routes),
    sweeps: features.flatMap(({ sweeps = [] }) => sweeps),
    reconcilers: features.flatMap(({ reconcilers = [] }) => reconcilers),
  }
}
