/** A piece of somebody else's text: as it is, or a mark for what cannot be seen or turns the rest around. */
export type Piece = { readonly text: string } | { readonly strange: string }

/** Combining marks beyond these only pile up over the lines around them. */
const marksKept = 4

/** Splits text so that nothing in it is hidden. */
export function piecesOf(text: string): Piece[] {
  const pieces: Piece[] = []
  let plain = ''
  let marks = 0
  let dropped = 0
  const flush = () => {
    if (plain) pieces.push({ text: plain })
    if (dropped) pieces.push({ strange: `+${dropped}` })
    plain = ''
    dropped = 0
  }
  for (const character of text) {
    marks = isMark(character) ? marks + 1 : 0
    if (marks > marksKept) {
      dropped += 1
      continue
    }
    if (dropped) flush()
    const code = character.codePointAt(0) ?? 0
    if (isStrange(code)) {
      flush()
      pieces.push({ strange: `U+${code.toString(16).toUpperCase().padStart(4, '0')}` })
    } else plain += character
  }
  flush()
  return pieces
}

export const hasStrange = (text: string) => piecesOf(text).some((piece) => 'strange' in piece)

/** The same in one line of plain text, for titles and names. */
export function plainLine(text: string): string {
  return piecesOf(text)
    .map((piece) => ('text' in piece ? piece.text : `[${piece.strange}]`))
    .join('')
}

const strangeRanges: readonly (readonly [number, number])[] = [
  [0x00, 0x08],
  [0x0b, 0x1f],
  [0x7f, 0x9f],
  [0xad, 0xad],
  [0x34f, 0x34f],
  [0x61c, 0x61c],
  [0x115f, 0x1160],
  [0x17b4, 0x17b5],
  [0x180b, 0x180f],
  [0x200b, 0x200f],
  [0x2028, 0x202e],
  [0x2060, 0x206f],
  [0x3164, 0x3164],
  [0xfe00, 0xfe0f],
  [0xfeff, 0xfeff],
  [0xffa0, 0xffa0],
  [0xfff0, 0xfffb],
  [0xd800, 0xdfff],
  [0xe0000, 0xe0fff],
]

function isStrange(code: number): boolean {
  return strangeRanges.some(([first, last]) => code >= first && code <= last)
}

const isMark = (character: string) => /^\p{M}$/u.test(character)
