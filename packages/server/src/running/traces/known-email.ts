/** As it is, and as part of an address. */
const signs = ['@', '%40']

/** Where a text has an address, which is given in lower case, in whatever case. */
export function* findEmail(
  text: string,
  email: string,
): Generator<{ readonly start: number; readonly end: number }> {
  const length = email.indexOf('@')
  const [local, domain] = [email.slice(0, length), email.slice(length + 1)]
  const last = local.charCodeAt(length - 1)
  for (const sign of signs) {
    for (let at = text.indexOf(sign); at !== -1; at = text.indexOf(sign, at + 1)) {
      const start = at - length
      // A text may be nothing but signs, and to cut a piece out of it costs more than to look at a letter.
      if (start < 0 || isOther(text.charCodeAt(at - 1), last)) continue
      const end = at + sign.length + domain.length
      if (text.slice(start, at).toLowerCase() !== local) continue
      if (text.slice(at + sign.length, end).toLowerCase() === domain) yield { start, end }
    }
  }
}

/** Beyond ASCII, what the same letter is depends on the language and on those beside it. */
function isOther(code: number, lower: number): boolean {
  return code < 128 && (code >= 65 && code <= 90 ? code + 32 : code) !== lower
}
