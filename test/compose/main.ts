// Has workflows composed by asking, and judges each by what it does:
//   node test/compose/main.ts                 all requests, of the stand-in for a model; every one must be right
//   node test/compose/main.ts --real          of the model in MODELS; says how many were right
//   node test/compose/main.ts --only greet
import { parseArgs } from 'node:util'
import type { RequestName } from '../../stack/model-endpoint/compose/requests.ts'
import { requestNames, runCorpus } from './corpus.ts'

const { values } = parseArgs({
  options: {
    real: { type: 'boolean', default: false },
    only: { type: 'string', multiple: true },
    'at-once': { type: 'string', default: '4' },
  },
})
const { real, only = requestNames } = values
const unknown = only.filter((name) => !requestNames.includes(name as RequestName))
if (unknown.length > 0)
  fail(`There is no request ${unknown.join(', ')}; there are ${requestNames.join(', ')}.`)
if (real && !process.env['MODELS']) {
  fail(
    'MODELS is not set. Give the setting as a deployment has it, with one default model, for example\n' +
      `  MODELS='[{"id":"…","provider":"anthropic","apiKey":"…","default":true,"inputPricePerMillion":300,"outputPricePerMillion":1500}]' npm run prove -- compose-real\n` +
      'provider is anthropic, openai or openai-compatible (with baseUrl); .env.example says more. It is asked for 40\n' +
      'workflows, a few replies each, and for the agents in them.',
  )
}
const verdicts = await runCorpus({
  names: only as RequestName[],
  real,
  patienceMs: real ? 280_000 : 30_000,
  atOnce: Number(values['at-once']),
  onVerdict: ({ name, problems, seconds }) =>
    console.log(
      `${problems.length === 0 ? 'right' : 'WRONG'}  ${name} (${seconds.toFixed(1)} s)${problems.map((problem) => `\n       ${problem}`).join('')}`,
    ),
})
const right = verdicts.filter(({ problems }) => problems.length === 0).length
console.log(`${right} of ${verdicts.length}`)
// A model is measured, not tested.
process.exitCode = real || right === verdicts.length ? 0 : 1

function fail(message: string): never {
  console.error(message)
  process.exit(2)
}
