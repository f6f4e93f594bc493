import { AxeBuilder } from '@axe-core/playwright'
import type { Page } from 'playwright-core'
import { isProof } from '../../support/sizes.ts'

/** The same colours are on all pages of a kind, so the gate looks at the first of a file by night. */
let seenByNight = false

/** What keeps somebody from reading or using this page, by day and by night. */
export async function hindrancesOf(page: Page): Promise<string[]> {
  const axe = () => new AxeBuilder({ page })
  const light = await axe().analyze()
  if (seenByNight && !isProof) return light.violations.map(words)
  seenByNight = true
  // The theme changes colours and nothing else.
  await page.emulateMedia({ colorScheme: 'dark' })
  const dark = await axe().withRules(['color-contrast']).analyze()
  await page.emulateMedia({ colorScheme: 'light' })
  return [...light.violations, ...dark.violations].map(words)
}

function words({ id, nodes }: { id: string; nodes: { html: string }[] }): string {
  return `${id}: ${nodes.map(({ html }) => html.slice(0, 160)).join(' | ')}`
}
