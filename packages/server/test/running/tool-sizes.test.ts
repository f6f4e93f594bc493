import { randomUUID } from 'node:crypto'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { estimateTokens } from '#machinery/models/models.ts'
import { bounded, outputBytes } from '#running/threads/toolset/output.ts'
import { createDatabase, openHouse } from '../support/house.ts'
import { newToolRun, toolsetParts } from '../support/tool-runs.ts'

const sender = {
  userId: randomUUID(),
  workspaceId: randomUUID(),
  credential: { kind: 'session', id: 1 },
} as const

test('a model gets 64 KiB of an output at most, in whole characters', () => {
  const { output } = bounded({ output: '☃'.repeat(40_000), isError: false })
  expect(Buffer.byteLength(output)).toBeLessThanOrEqual(outputBytes)
  expect(output).toMatch(/^☃+\n\[cut: this is the beginning of 120000 bytes; ask for less of it\]$/)
})

test('however many tools there are, a prompt has 30 of them and 6,000 tokens at most', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tools-'))
  const module = join(folder, 'tools.mjs')
  writeFileSync(
    module,
    `export const tools = Array.from({ length: 60 }, (_, n) => ({ id: 'tool-' + n, description: 'x'.repeat(n < 30 ? 900 : 10),
      inputSchema: { type: 'object' }, quick: true, run: async () => ({ kind: 'output', output: n }) }))`,
  )
  const other = await openHouse({ DATABASE_URL: await createDatabase(), TOOLS_MODULE: module })
  try {
    const own = Array.from({ length: 60 }, (_, n) => `tool-${n}`)
    for (const tools of [['skills', 'workflows', ...own], own, ['skills', 'workflows', ...own.slice(30)]]) {
      const { schemas } = newToolRun(toolsetParts(other), sender, { tools }).toolset
      expect(schemas.length).toBeLessThanOrEqual(30)
      expect(estimateTokens(JSON.stringify(schemas))).toBeLessThanOrEqual(6000)
      expect(schemas.length).toBeGreaterThan(20)
    }
    const usual = newToolRun(toolsetParts(other), sender).toolset.schemas
    expect(estimateTokens(JSON.stringify(usual))).toBeLessThan(2000)
  } finally {
    await other.close()
  }
})
