/** Text that is HTML already. */
export interface Markup {
  readonly markup: string
}

/** HTML in which every value is escaped unless it is markup itself. */
export function html(
  parts: TemplateStringsArray,
  ...values: (string | Markup | readonly Markup[])[]
): Markup {
  const written = values.map((value) => {
    if (typeof value === 'string') return escapeHtml(value)
    return 'markup' in value ? value.markup : value.map((part) => part.markup).join('')
  })
  return { markup: String.raw({ raw: parts }, ...written) }
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}
