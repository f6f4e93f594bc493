/** A program that passes or fails as a whole, or a vitest project that is reported file by file. */
export interface Step {
  readonly name: string
  readonly command: string
  readonly args: readonly string[]
  /** Tells what becomes of each file to `GATE_REPORT`, and can be run again with single files as arguments. */
  readonly reports: boolean
}

/** Phases follow each other, lanes of a phase run side by side, steps of a lane follow each other. */
export type Plan = readonly (readonly (readonly Step[])[])[]

const script = (name: string): Step => ({
  name,
  command: 'npm',
  args: ['run', '--silent', name],
  reports: false,
})

const project = (name: string): Step => ({
  name,
  command: 'vitest',
  args: [
    ...['run', '--project', name, '--reporter=default', '--reporter=./scripts/gate/reporter.ts'],
    // A test is run once, none instead of others, and what it expects is in the repository.
    ...['--retry=0', '--allowOnly=false', '--update=none'],
  ],
  reports: true,
})

/** Two cores: what mostly waits stands beside what mostly computes. */
export const plan: Plan = [
  [
    [script('check'), project('unit'), project('peers'), project('catalog'), project('counted')],
    [project('server')],
  ],
  [
    [project('conformance'), project('system')],
    [project('sdk'), project('cli'), project('e2e')],
  ],
]
