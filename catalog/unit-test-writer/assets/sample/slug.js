// function commentedOut() {}
export function slug(text) {
  if (!text) return ''
  return text.toLowerCase().replace(/[^a-z0-9]+/g, '-')
}

export const shorten = (text, length = 10) => (text.length > length ? `${text.slice(0, length)}…` : text)

function helper() {
  return 'function notReal() {}'
}

export class Counter {
  count(values) {
    return values.filter((value) => value.ok && value.open).length + helper().length
  }
}
