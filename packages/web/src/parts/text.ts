import { unusual } from '@guildhall/sdk/text'

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
    if (unusual.test(character)) {
      flush()
      const code = character.codePointAt(0) ?? 0
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

const isMark = (character: string) => /^\p{M}$/u.test(character)
