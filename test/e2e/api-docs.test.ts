import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { chromium } from 'playwright-core'
import { expect, test } from 'vitest'
import document from '../../docs/api/openapi.json' with { type: 'json' }

const root = fileURLToPath(new URL('../..', import.meta.url))

test('the page of the API shows every operation, without the network', async () => {
  execFileSync('npm', ['run', '--silent', 'docs:api'], { cwd: root })
  const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox'] })
  try {
    // As tall as the whole list: of a long one the page draws only what is in sight.
    const context = await browser.newContext({ viewport: { width: 1280, height: 20_000 } })
    await context.setOffline(true)
    const page = await context.newPage()
    const asked: string[] = []
    const faults: string[] = []
    page.on('request', (request) => asked.push(request.url().slice(0, 200)))
    page.on('pageerror', ({ message }) => faults.push(message))
    await page.goto(`file://${root}build/api/index.html`)
    const blocks = page.locator('.opblock')
    await blocks.first().waitFor({ timeout: 120_000 })
    const operations = Object.values(document.paths).flatMap((methods) => Object.values(methods))
    await expect.poll(() => blocks.count()).toBe(operations.length)
    // Its answer's example is that of a record, which the page finds through references.
    const block = page.locator('#operations-keys-createKey')
    await block.click()
    await block.getByText('Copy api_key now').waitFor()
    await block.locator('.response').getByText('"bot on build-7"').waitFor()
    expect(faults).toEqual([])
    expect(asked.filter((url) => !/^(file|data|blob):/.test(url))).toEqual([])
  } finally {
    await browser.close()
  }
})
