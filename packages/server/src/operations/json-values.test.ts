import { expect, test } from 'vitest'
import { JsonMeter } from './json-values.ts'

const refusalOf = (mostValues: number, chunks: readonly Buffer[]) => {
  const meter = new JsonMeter(mostValues)
  try {
    for (const chunk of chunks) meter.take(chunk)
    return undefined
  } catch (error) {
    return (error as Error).message
  }
}

/** Every way to cut it in two, and byte by byte. */
function* cutsOf(text: string): Generator<Buffer[]> {
  const bytes = Buffer.from(text)
  for (let at = 0; at <= bytes.length; at++) yield [bytes.subarray(0, at), bytes.subarray(at)]
  yield Array.from(bytes, (_, at) => bytes.subarray(at, at + 1))
}

test.each([
  ['a record', '{"a":1,"b":[2,3]}', 5],
  ['signs in texts', '{"[,{":"a,b,[{]}","c":"\\",,,"}', 3],
  ['backslashes before a quote', '["\\\\",1,"\\\\\\"",2,"a\\\\\\\\"]', 6],
  ['texts of quotes', '["\\"\\"","",",",1]', 5],
  ['characters of several bytes', '["ü€𝄞,",1]', 3],
])('%s: as many values are counted, however it is cut', (_name, text, values) => {
  for (const chunks of cutsOf(text)) {
    const cut = chunks.map(String).join('|')
    expect(refusalOf(values, chunks), cut).toBeUndefined()
    expect(refusalOf(values - 1, chunks), cut).toBe(`The body has more than ${values - 1} values`)
  }
})

test('what nests too deep is refused where it does', () => {
  const levels = (count: number) => [Buffer.from('['.repeat(count)), Buffer.from('[]'.repeat(50))]
  expect(refusalOf(5000, levels(999))).toBeUndefined()
  expect(refusalOf(5000, levels(1000))).toBe('The body nests deeper than 1000 levels')
})
