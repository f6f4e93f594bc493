/** How skills, agents, workflows, artifacts and own tools are named. */
export const slugPattern = /^[a-z0-9][a-z0-9-]{0,63}$/

export function isSlug(text: string): boolean {
  return slugPattern.test(text)
}
