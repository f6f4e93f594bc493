import { countHeaviest } from '../support/count-heaviest.ts'
import { heavyWrites } from '../support/heavy-calls.ts'

// The other half of `heaviest.test.ts`: counting is slow.
countHeaviest(heavyWrites.filter((_, index) => index % 2 === 1))
