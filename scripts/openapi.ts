import { readFileSync, writeFileSync } from 'node:fs'
import { routes } from '@guildhall/contract'
import { openApiDocument } from '@guildhall/contract/openapi'
import contract from '../packages/contract/package.json' with { type: 'json' }
import { printJson } from './print-json.ts'

/** Prints the contract as `docs/api/openapi.json`; with `--check` only says whether the file is up to date. */
const file = new URL('../docs/api/openapi.json', import.meta.url)
const printed = printJson(openApiDocument(routes, contract.version))

if (!process.argv.includes('--check')) {
  writeFileSync(file, printed)
} else if (readFileSync(file, 'utf8') !== printed) {
  console.error('docs/api/openapi.json is stale: run "npm run openapi" and commit it')
  process.exit(1)
}
