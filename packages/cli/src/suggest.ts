/** The three nearest, by how many letters must change; none that is far off. */
export function nearest(typed: string, known: readonly string[]): string[] {
  return known
    .map((word) => ({ word, distance: word.startsWith(typed) ? 0 : editDistance(typed, word) }))
    .filter(({ word, distance }) => distance <= Math.max(2, Math.floor(word.length / 3)))
    .sort((one, other) => one.distance - other.distance)
    .slice(0, 3)
    .map(({ word }) => word)
}

function editDistance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index)
  for (let i = 1; i <= from.length; i++) {
    const next = [i]
    for (let j = 1; j <= to.length; j++) {
      const same = from[i - 1] === to[j - 1]
      next.push(Math.min((row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1, (row[j - 1] ?? 0) + (same ? 0 : 1)))
    }
    row = next
  }
  return row[to.length] ?? 0
}
