import { bench } from './bench.ts'
import { chaos } from './chaos.ts'
import { scale } from './scale.ts'
import { tests } from './tests.ts'

/** In the order in which a night runs them: what is right before what is fast. */
export const kinds = { tests, chaos, scale, bench }

export const proofs = Object.values(kinds).flat()
