import { renderUnicodeCompact } from 'uqr'
import type { Output } from './output.ts'
import { ours, type Shown } from './safe-text.ts'

/** The address as a picture for a phone; undefined where it does not fit. */
export function qrOf(address: string, out: Output): Shown | undefined {
  if (!out.stderrIsTerminal || !out.unicode) return undefined
  const lines = renderUnicodeCompact(address, { border: 2 }).split('\n')
  const height = process.stderr.rows ?? 24
  const width = lines[0]?.length ?? 0
  if (width + 2 > out.width || lines.length + 6 > height) return undefined
  return ours(lines.map((line) => `  ${line}`).join('\n'))
}
