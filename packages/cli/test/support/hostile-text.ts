/** Text that agents, skills and servers may write, and what of it must not reach a terminal. */
export const esc = '\u001b'
/** What has been used to write to a clipboard, forge a line, hide a word or hang a terminal. */
export const corpus: readonly string[] = [
  `${esc}]52;c;aGFja2Vk\u0007`,
  `${esc}]8;;https://evil.example\u0007click${esc}]8;;\u0007`,
  `${esc}[2J${esc}[H`,
  `${esc}[1A${esc}[2Kforged`,
  `${esc}P+q544e${esc}\\`,
  `${esc}_Gf=24${esc}\\`,
  '\u009b31mred',
  '\u009d52;c;x\u009c',
  'a\rb',
  'a\bb\u0007',
  '\u202egnp.exe',
  '\u2066left\u2069',
  '\u200bzero\ufeff',
  'x'.repeat(20_000),
]
/** Bytes that a terminal obeys, and marks that turn or hide what follows; where the first of them stands. */
export function obeyedIn(text: string): string | undefined {
  const at = [...text].findIndex((character) => {
    const code = character.codePointAt(0) ?? 0
    const control = (code < 0x20 && code !== 0x0a && code !== 0x09) || (code >= 0x7f && code < 0xa0)
    const mark = [0x200b, 0x200e, 0x200f, 0xfeff].includes(code)
    return control || mark || (code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069)
  })
  return at < 0 ? undefined : JSON.stringify([...text].slice(Math.max(0, at - 20), at + 20).join(''))
}
