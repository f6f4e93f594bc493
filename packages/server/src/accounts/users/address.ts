/**
 * Which addresses are one: those that differ in the case of ASCII letters, as the database's "C" collation has it too
 * (`users_by_address`). The case of other letters is a matter of language and version: JavaScript and PostgreSQL do not agree
 * on it, and where they differ one person would be taken for another.
 */
export const foldAddress = (address: string): string =>
  address.trim().replace(/[A-Z]/g, (letter) => letter.toLowerCase())
