import { openEvaluators } from '#machinery/tools/evaluators.ts'

/* A process that evaluates and is then killed from outside: it has spares, and one at work. */
const evaluators = openEvaluators(60_000)
await evaluators.check()
const never = evaluators.evaluate(
  {
    workspaceId: 'w',
    expression: '($f := function($x) { $x = 0 ? 0 : $f($x + 1) }; $f(1))',
    data: null,
  },
  new AbortController().signal,
)
process.stdout.write('at work\n')
await never
