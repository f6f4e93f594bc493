import { expect, test } from 'vitest'
import { JsonMeter, refuseUnwanted } from './json-values.ts'

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

const wantedOf = (text: string, cut: number) => {
  const meter = new JsonMeter(5000)
  const bytes = Buffer.from(text)
  for (const chunk of [bytes.subarray(0, cut), bytes.subarray(cut)]) meter.take(chunk)
  try {
    refuseUnwanted(text, meter, JSON.parse(text))
    return 'wanted'
  } catch (error) {
    return (error as Error).message
  }
}

test.each([
  ['a NUL', '{"a":["\\u0000"]}', /NUL/],
  ['a NUL in a name', '[{"a\\u0000":1}]', /NUL/],
  ['the first half of a character', '[[[{"a":"\\uD800"}]]]', /halves/],
  ['the second half, last of all', '["\\\\\\udc00"]', /halves/],
  ['__proto__', '{"a":{"__proto__":{}}}', /__proto__/],
  ['__proto__ in codes', '{"a":[{"\\u005f_proto__":1}]}', /__proto__/],
  ['a prototype of a constructor', '[{"constructor":{"prototype":{}}}]', /__proto__/],
  ['both in codes', '{"c\\u006fnstructor":{"\\u0070rototype":1}}', /__proto__/],
  ['a whole character in two codes', '{"a":"\\ud834\\udd1e"}', /^wanted$/],
  ['a backslash before a u', '["\\\\u0000","\\\\ud800"]', /^wanted$/],
  [
    'a constructor',
    '{"constructor":{"name":"prototype"},"a":{"constructor":null,"prototype":1}}',
    /^wanted$/,
  ],
  ['names within texts', '["__proto__","constructor",null,true]', /^wanted$/],
])('%s is found, however the text is cut', (_name, text, said) => {
  for (let cut = 0; cut <= Buffer.byteLength(text); cut++) expect(wantedOf(text, cut), `${cut}`).toMatch(said)
})
