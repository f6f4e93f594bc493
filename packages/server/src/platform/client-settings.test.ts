import { expect, test } from 'vitest'
import { readClients } from './client-settings.ts'
import type { Attempt } from './sandbox-settings.ts'

const mebibyte = 1024 * 1024

function heldWith(env: Readonly<Record<string, string>>) {
  const attempt = ((name: string, read: (value: string) => unknown, otherwise: unknown) =>
    env[name] === undefined ? otherwise : read(env[name])) as Attempt
  const { perCredential, perPerson, perAddress, inAll } = readClients(attempt).held
  return [perCredential, perPerson, perAddress, inAll].map((bytes) => bytes / mebibyte)
}

test('who is alone has a part of what may be held, however little memory there is, and room for a whole body', () => {
  const withMemory = (mebibytes: number) => heldWith({ HELD_BYTES: String((mebibytes / 8) * mebibyte) })
  expect(withMemory(16_384)).toEqual([64, 128, 256, 2048])
  expect(withMemory(2048)).toEqual([16, 32, 64, 256])
  expect(withMemory(1024)).toEqual([16, 16, 32, 128])
  const set = { HELD_BYTES_PER_CREDENTIAL: '1048576', HELD_BYTES_PER_PERSON: '2097152' }
  expect(heldWith({ ...set, HELD_BYTES: '4194304', HELD_BYTES_PER_ADDRESS: '3145728' })).toEqual([1, 2, 3, 4])
})
