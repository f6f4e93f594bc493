import { AxeBuilder } from '@axe-core/playwright'
import type { Page } from 'playwright-core'

/** What keeps somebody from reading or using this page, by day and by night. */
export async function hindrancesOf(page: Page): Promise<string[]> {
  const axe = () => new AxeBuilder({ page })
  const light = await axe().analyze()
  // The theme changes colours and nothing else.
  await page.emulateMedia({ colorScheme: 'dark' })
  const dark = await axe().withRules(['color-contrast']).analyze()
  await page.emulateMedia({ colorScheme: 'light' })
  return [...light.violations, ...dark.violations].map(
    ({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 160)).join(' | ')}`,
  )
}
