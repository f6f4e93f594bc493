/**
 * A character that is not seen, or turns around what is seen beside it; line breaks and tabs are neither. Controls and
 * formats, halves of characters, what fonts are told to show nothing for, and signs that are blank: the empty Braille
 * pattern, the null notehead, the filler of Khitan. The service and whoever shows a text to a person mark the same.
 */
export const unusual = /(?![\t\n])[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{DI}\u2800\u{1d159}\u{16fe4}]/u
