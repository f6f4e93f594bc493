import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, extname, join, normalize, relative } from 'node:path'
import { describe, expect, test } from 'vitest'
import { catalog, filesBelow, slugs } from './workbench.ts'

const categories = ['data', 'writing', 'engineering', 'operations', 'finance']

/** The front matter of a skill: single lines of `key: value`, and one level of texts below `metadata`. */
function readSkill(text: string) {
  const found = /^---\n([\s\S]*?)\n---\n([\s\S]*)$/.exec(text)
  if (!found) throw new Error('no front matter')
  const fields = new Map<string, string>()
  const metadata = new Map<string, string>()
  let inMetadata = false
  for (const line of (found[1] ?? '').split('\n')) {
    const part = /^( {2})?([a-z][a-z-]*):(?: (.+))?$/.exec(line)
    if (!part) throw new Error(`not understood: ${line}`)
    const value = (part[3] ?? '').replace(/^"(.*)"$/, '$1')
    // A plain YAML text must not hold ': ' or ' #', or another parser reads something else.
    if (!part[3]?.startsWith('"') && /: | #|^[[{&*!|>%@`'"]/.test(value)) throw new Error(`quote: ${line}`)
    if (part[1]) {
      if (!inMetadata) throw new Error(`indented: ${line}`)
      metadata.set(part[2] ?? '', value)
    } else {
      inMetadata = part[2] === 'metadata'
      fields.set(part[2] ?? '', value)
    }
  }
  return { fields, metadata, body: found[2] ?? '' }
}

const hidden = /[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]/u
const hasControl = (text: string) =>
  [...text].some((char) => char !== '\n' && char !== '\t' && /\p{Cc}/u.test(char))
const absolute = /(?<![\w.~:/<)}\]*-])\/(?!(?:skill|workspace)\b)[A-Za-z][\w.-]*/

test('the catalog holds the twelve skills and nothing else', () => {
  expect(readdirSync(catalog).sort()).toEqual(slugs)
})

describe.each(slugs)('%s', (slug) => {
  const folder = join(catalog, slug)
  const skill = () => readSkill(readFileSync(join(folder, 'SKILL.md'), 'utf8'))

  test('front matter follows the format', () => {
    const { fields, metadata } = skill()
    expect(fields.get('name')).toBe(slug)
    expect(slug).toMatch(/^[a-z0-9]+(?:-[a-z0-9]+)*$/)
    expect(slug.length).toBeLessThanOrEqual(64)
    const description = fields.get('description') ?? ''
    expect(description.length).toBeGreaterThan(80)
    expect(description.length).toBeLessThanOrEqual(1024)
    expect(description).toMatch(/\bUse (?:when|after|before)\b/)
    expect(description).not.toMatch(/[<>]/)
    expect(fields.get('license')).toBe('Apache-2.0')
    expect(fields.get('allowed-tools')).toBe('bash read_file write_file list_files')
    expect([...fields.keys()].sort()).toEqual(['allowed-tools', 'description', 'license', 'metadata', 'name'])
    expect(categories).toContain(metadata.get('category'))
    expect(metadata.get('author')).toBe('Guildhall')
    expect(metadata.get('version')).toMatch(/^\d+\.\d+\.\d+$/)
  })

  test('the body instructs, within its length, and says what to hand back', () => {
    const { body } = skill()
    expect(body.trim().split('\n').length).toBeGreaterThan(20)
    expect(body.split('\n').length).toBeLessThan(500)
    expect(body).toMatch(/^# /m)
    expect(body).toMatch(/^## Hand back$/m)
    expect(body).toContain('/workspace/output')
    expect(body).toContain('/skill/scripts/')
  })

  test('every file mentioned exists and every file is mentioned', () => {
    const texts = filesBelow(folder).filter((file) => file.endsWith('.md'))
    for (const file of texts) {
      for (const [mention] of readFileSync(file, 'utf8').matchAll(
        /(?<![\w/.-])(?:\/skill\/)?(?:scripts|references|assets)\/[\w./-]*\w/g,
      )) {
        expect(existsSync(join(folder, mention.replace('/skill/', ''))), `${mention} in ${file}`).toBe(true)
      }
    }
    const text = texts.map((file) => readFileSync(file, 'utf8')).join('\n')
    for (const file of filesBelow(folder).filter((name) => !/SKILL\.md$|assets/.test(name))) {
      expect(text, `${file} is mentioned nowhere`).toContain(relative(folder, file))
    }
  })

  test('no large files, links out, absolute paths or hidden characters', () => {
    for (const file of filesBelow(folder)) {
      expect(statSync(file).size, file).toBeLessThanOrEqual(200 * 1024)
      const text = readFileSync(file, 'utf8')
      expect(hidden.test(text), `hidden character in ${file}`).toBe(false)
      expect(hasControl(text), `control character in ${file}`).toBe(false)
      expect(text, file).not.toMatch(/(?<![\w.<])\/(?:usr|etc|home|tmp|var|root|opt|work|mnt|proc|dev)\//)
      if (extname(file) !== '.md') continue
      expect(absolute.exec(text)?.[0], `absolute path in ${file}`).toBeUndefined()
      for (const [, target = ''] of text.matchAll(/\]\(([^)\s]*)/g)) {
        expect(target, file).not.toMatch(/^(?:[a-z]+:|\/)/)
        expect(normalize(join(relative(folder, dirname(file)), target)), file).not.toMatch(/^\.\./)
      }
    }
  })
})

test('the checks above find what they are made for', () => {
  expect(absolute.test('see `/etc/passwd`')).toBe(true)
  expect(absolute.test('write to /workspace/output and /skill/scripts')).toBe(false)
  expect(hidden.test('a\u200bb')).toBe(true)
  expect(() => readSkill('# no front matter\n')).toThrow('no front matter')
  expect(() => readSkill('---\ndescription: a: b\n---\n')).toThrow('quote')
})
