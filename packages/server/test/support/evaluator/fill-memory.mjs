import { writeFileSync } from 'node:fs'

/* Fills memory outside of the heap, and tells how far it got; the last line that is whole counts. */
const pieceBytes = 8 * 1024 * 1024
const held = []
for (;;) {
  held.push(Buffer.alloc(pieceBytes, 1))
  writeFileSync(1, `${held.length * pieceBytes}\n`)
}
