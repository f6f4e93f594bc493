// Printed from the contract by "npm run sdk". Do not edit.

/** A character that is not seen, or turns around what is seen beside it. */
export const unusual: RegExp = /(?![\t\n])[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{DI}\u2800\u{1d159}\u{16fe4}]/u
