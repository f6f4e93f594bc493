/** Characters that make one name look like another, or turn the words around it. */
const deceptive = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{DI}]/u
const longestName = 80

/** Why an app cannot be called this; undefined when it can. */
export function nameProblem(name: string): string | undefined {
  if (name.trim() === '' || name.length > longestName) return `must have 1 to ${longestName} characters`
  return deceptive.test(name) ? 'must not have invisible characters' : undefined
}
