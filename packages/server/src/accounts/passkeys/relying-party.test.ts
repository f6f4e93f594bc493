import { expect, test } from 'vitest'
import { relyingParty } from './relying-party.ts'

test.each([
  ['https://app.guild.test', 'https://app.guild.test', 'app.guild.test', ['https://app.guild.test']],
  [
    'https://guild.test/app',
    'https://api.guild.test:8443/v',
    'guild.test',
    ['https://guild.test', 'https://api.guild.test:8443'],
  ],
  ['http://127.0.0.1:4000', 'http://127.0.0.1:4000', 'localhost', ['http://localhost:4000']],
  ['http://[::1]:4000', 'http://localhost:4000', 'localhost', ['http://localhost:4000']],
  [
    'http://localhost:3000',
    'http://127.0.0.1:4000',
    'localhost',
    ['http://localhost:3000', 'http://localhost:4000'],
  ],
])('%s with the API at %s', (appUrl, publicUrl, id, origins) => {
  expect(relyingParty({ appUrl, publicUrl })).toEqual({ id, origins })
})
