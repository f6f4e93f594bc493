import stringWidth from 'fast-string-width'
import { bold, joined, type Sayable, Shown, say } from './safe-text.ts'

/** A column of a list: its head, and what stands in it for one item. */
export interface Column<Item> {
  head: string
  cell: (item: Item, forPeople: boolean) => Sayable
  /** The last one that gives way when the terminal is narrow. */
  wide?: true
}

/** Narrower than this nothing can be read in it. */
const leastWidth = 8

const widthOf = (text: string): number => stringWidth(text)

/** For a terminal: aligned, cut to its width. */
export function table<Item>(
  items: readonly Item[],
  columns: readonly Column<Item>[],
  terminalWidth: number,
): Shown[] {
  const rows = [
    columns.map((column) => bold(column.head)),
    ...items.map((item) => columns.map((column) => shown(column.cell(item, true)))),
  ]
  const widths = columns.map((_, index) => Math.max(...rows.map((row) => widthOf(row[index]?.plain ?? ''))))
  const wide = Math.max(
    0,
    columns.findIndex((column) => column.wide),
  )
  const gaps = 2 * (columns.length - 1)
  const spare = terminalWidth - gaps - widths.reduce((sum, width) => sum + width, 0)
  if (spare < 0) {
    const narrower = (widths[wide] ?? 0) + spare
    if (narrower < leastWidth) return records(rows)
    widths[wide] = narrower
  }
  return rows.map((row) =>
    joined(
      row.map((cell, index) => {
        const width = widths[index] ?? 0
        return index === row.length - 1 ? cut(cell, width) : padded(cut(cell, width), width)
      }),
      '  ',
    ),
  )
}

/** Where the columns do not fit: each item by itself, a line for each of its values, none of them cut. */
function records(rows: readonly (readonly Shown[])[]): Shown[] {
  const [heads = [], ...items] = rows
  const width = Math.max(...heads.map((head) => widthOf(head.plain)))
  return items.flatMap((item, at) => [
    ...(at > 0 ? [say``] : []),
    ...item.map((cell, index) => joined([padded(heads[index] ?? say``, width), cell], '  ')),
  ])
}

/** For a pipe: a line per item, tabs between, nothing cut, no head. */
export function tabSeparated<Item>(items: readonly Item[], columns: readonly Column<Item>[]): string[] {
  return items.map((item) => columns.map((column) => shown(column.cell(item, false)).plain).join('\t'))
}

function padded(value: Shown, width: number): Shown {
  const missing = width - widthOf(value.plain)
  return missing > 0 ? new Shown([...value.spans, { text: ' '.repeat(missing) }]) : value
}

export function cut(value: Shown, width: number): Shown {
  if (widthOf(value.plain) <= width) return value
  let room = Math.max(0, width - 1)
  const spans = []
  for (const span of value.spans) {
    let text = ''
    for (const character of span.text) {
      const step = widthOf(character)
      if (step > room) {
        room = 0
        break
      }
      text += character
      room -= step
    }
    spans.push({ ...span, text })
    if (room === 0) break
  }
  return new Shown([...spans, { text: '…' }])
}

function shown(value: Sayable): Shown {
  return value instanceof Shown ? value : say`${value}`
}
