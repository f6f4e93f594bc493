import { readFileSync, writeFileSync } from 'node:fs'
import { evaluate } from './language.mjs'

/*
 * A program: says that it is ready, reads one evaluation from its input, answers, and ends. It never serves a second
 * one, and it ends without a word when whoever started it goes before asking. JavaScript and not TypeScript: stripping
 * types would triple the time of a start, and there is a start for every evaluation.
 */

const input = 0
const output = 1

writeFileSync(output, '\n')
const asked = readFileSync(input, 'utf8')
if (asked !== '') writeFileSync(output, `${JSON.stringify(await evaluate(JSON.parse(asked)))}\n`)
