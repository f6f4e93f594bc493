import { readFileSync, writeFileSync } from 'node:fs'
import { routes } from '@guildhall/contract'
import { openApiDocument } from '@guildhall/contract/openapi'
import { Validator } from '@seriousme/openapi-schema-validator'
import contract from '../packages/contract/package.json' with { type: 'json' }
import { printJson } from './print-json.ts'

/**
 * Prints the contract as `docs/api/openapi.json`; with `--check` only says whether the file is up to date, and whether
 * a validator that knows nothing of us finds it to be OpenAPI 3.1.
 */
const file = new URL('../docs/api/openapi.json', import.meta.url)
const printed = printJson(openApiDocument(routes, contract.version))

if (process.argv.includes('--check')) await check()
else writeFileSync(file, printed)

async function check(): Promise<void> {
  if (readFileSync(file, 'utf8') !== printed) {
    fail('docs/api/openapi.json is stale: run "npm run openapi" and commit it')
  }
  const { valid, errors } = await new Validator().validate(JSON.parse(printed))
  if (!valid) fail(`docs/api/openapi.json is no OpenAPI document: ${JSON.stringify(errors, null, 2)}`)
}

function fail(message: string): never {
  console.error(message)
  process.exit(1)
}
