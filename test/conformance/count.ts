// npm run conformance:count: how much of the specification the suite shows, by area.
import { readCitations } from './coverage.ts'
import { type Feature, requirements } from './requirements.ts'

const cited = new Set(readCitations().citations.map(({ id }) => id))
const areas = [...new Set(requirements.map(({ area }) => area))]
const features: Feature[] = [...new Set(requirements.flatMap(({ pending }) => (pending ? [pending] : [])))]

const rows = [
  ...areas.map((area) =>
    row(
      area,
      requirements.filter((requirement) => requirement.area === area),
    ),
  ),
  row('all', requirements),
]
const header = ['area', 'rules', 'verified', 'pending', ...features]
const widths = header.map((title, column) =>
  Math.max(title.length, ...rows.map((cells) => String(cells[column]).length)),
)
for (const cells of [header, ...rows]) {
  const [area = '', ...counts] = cells.map(String)
  const padded = counts.map((count, column) => count.padStart(widths[column + 1] ?? 0))
  console.log([area.padEnd(widths[0] ?? 0), ...padded].join('  ').trimEnd())
}

function row(title: string, rules: typeof requirements): (string | number)[] {
  const verified = rules.filter(({ id, pending }) => !pending && cited.has(id)).length
  const pending = rules.filter((rule) => rule.pending)
  const byFeature = features.map((feature) => pending.filter((rule) => rule.pending === feature).length || '')
  return [title, rules.length, verified, pending.length, ...byFeature]
}
