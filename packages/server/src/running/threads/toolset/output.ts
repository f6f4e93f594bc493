import type { ToolOutput } from './tool.ts'

export const outputBytes = 64 * 1024

/** What a model is given of an output: all of it, or its beginning and how much there was. */
export function bounded(given: ToolOutput): ToolOutput {
  const bytes = Buffer.byteLength(given.output)
  if (bytes <= outputBytes) return given
  const note = `\n[cut: this is the beginning of ${bytes} bytes; ask for less of it]`
  return { ...given, output: beginningOf(given.output, outputBytes - Buffer.byteLength(note)) + note }
}

/** Whole characters only. */
function beginningOf(text: string, bytes: number): string {
  const cut = Buffer.from(text).subarray(0, bytes)
  // A character that was cut through decodes to the replacement character at the end.
  return new TextDecoder().decode(cut, { stream: true })
}
