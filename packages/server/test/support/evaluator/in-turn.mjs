import { readFileSync, writeFileSync } from 'node:fs'
import { evaluate } from '../../../src/machinery/tools/evaluator/language.mjs'

/* What the evaluator must never do: one evaluation after the other in the same process, to try the second wall alone. */
const answers = []
for (const evaluation of JSON.parse(readFileSync(0, 'utf8'))) answers.push(await evaluate(evaluation))
writeFileSync(1, JSON.stringify(answers))
