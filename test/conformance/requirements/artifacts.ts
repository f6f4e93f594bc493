import type { Requirement } from './requirement.ts'

export const artifacts = [
  {
    id: 'artifacts:record:id-and-type',
    area: 'artifacts',
    line: 235,
    rule: 'POST /artifacts answers 201 with a string id and a type that is skill, workflow or file.',
    kind: 'field',
    decided: true,
  },
  {
    id: 'artifacts:workflow:carries-workflow-json',
    area: 'artifacts',
    line: 235,
    rule: "The workflow.json inside an artifact of type workflow is what install-from-artifact stores: the record's definition parses to the same value.",
    kind: 'state',
    decided: true,
  },
] as const satisfies readonly Requirement[]
