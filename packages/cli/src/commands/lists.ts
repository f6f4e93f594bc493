import type { Pager } from '@guildhall/sdk'
import type { Input } from '../input.ts'
import type { Page } from '../output/output.ts'

const usualCount = 30

/** `--limit N` of a list, or all of it with --all; only what fits. */
export async function pageOf<Item>(
  input: Input,
  pager: Pager<Item>,
  fits: (item: Item) => boolean = () => true,
): Promise<Page<Item>> {
  const limit = input.has('all') ? Number.POSITIVE_INFINITY : (input.number('limit') ?? usualCount)
  const items: Item[] = []
  let more = false
  for await (const item of pager) {
    if (!fits(item)) continue
    if (items.length >= limit) {
      more = true
      break
    }
    items.push(item)
  }
  return { items, more }
}
