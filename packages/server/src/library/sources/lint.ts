import { posix } from 'node:path'
import type { BundleFile, SkillFile } from '#library/artifacts/artifacts.ts'

interface LintWarning {
  code: 'HIDDEN_UNICODE' | 'LINK_OUT' | 'INSTRUCTIONS_TOO_LONG' | 'UNKNOWN_TOOL'
  path?: string
  message: string
}

/** What agents read without losing the thread, after the advice of the skill format. */
const longest = { lines: 500, characters: 20_000 }
const mostWarnings = 100
const mostCounted = 1000
const mostNamed = 5
const nothingMore = 'Read it before you let an agent follow it.'

/**
 * What a person should know before trusting a skill: warnings, never refusals. Pure. It reads each file once, counts
 * no further than it tells, and stops when it has said enough.
 */
export function lintSkill(
  files: readonly Pick<BundleFile, 'path' | 'bytes'>[],
  skill: Pick<SkillFile, 'text' | 'allowedTools'>,
  knownTools: readonly string[],
): LintWarning[] {
  return [...first(mostWarnings, warningsOf(files, skill, knownTools))]
}

function* warningsOf(
  files: readonly Pick<BundleFile, 'path' | 'bytes'>[],
  skill: Pick<SkillFile, 'text' | 'allowedTools'>,
  knownTools: readonly string[],
): Generator<LintWarning> {
  yield* tooLong(skill.text)
  yield* unknownTools(skill.allowedTools, knownTools)
  for (const { path, bytes } of files) {
    // Like git tells: text has no NUL near its beginning.
    if (bytes.subarray(0, 8000).includes(0)) continue
    const text = bytes.toString('utf8')
    yield* hiddenUnicode(path, text)
    if (/\.(?:md|markdown|txt)$/i.test(path)) yield* linksOut(path, text)
  }
}

function tooLong(text: string): LintWarning[] {
  const lines = text.split('\n').length
  if (lines <= longest.lines && text.length <= longest.characters) return []
  const message = `The instructions have ${lines} lines and ${text.length} characters; up to ${longest.lines} and ${longest.characters} are followed well. Move details to files of their own.`
  return [{ code: 'INSTRUCTIONS_TOO_LONG', path: 'SKILL.md', message }]
}

function unknownTools(allowed: readonly string[], known: readonly string[]): LintWarning[] {
  const names = new Set(allowed.map((tool) => tool.replace(/\(.*$/s, '').slice(0, 64)))
  return [...names]
    .filter((name) => !known.includes(name))
    .slice(0, 20)
    .map((name) => ({
      code: 'UNKNOWN_TOOL' as const,
      path: 'SKILL.md',
      message: `allowed-tools names ${JSON.stringify(name)}, which does not exist here; the skill runs without it.`,
    }))
}

/**
 * Characters that are read and not seen: all of Unicode's format characters (writing direction, no width, invisible
 * copies of ASCII), fillers, and the variation selectors past those that emoji use. Not the joiner inside an emoji,
 * nor the mark at the beginning of a file.
 */
const hidden =
  /(?!\u200d|^\ufeff)\p{Cf}|[\u115f\u1160\u3164\uffa0]|[\u{e0100}-\u{e01ef}]|(?<!\p{Extended_Pictographic}|\p{Emoji_Modifier}|\ufe0f)\u200d/gu

function hiddenUnicode(path: string, text: string): LintWarning[] {
  let count = 0
  let firstAt = -1
  const kinds = new Set<string>()
  for (const { 0: character, index } of first(mostCounted, text.matchAll(hidden))) {
    if (count++ === 0) firstAt = index
    if (kinds.size < mostNamed)
      kinds.add(`U+${character.codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0')}`)
  }
  if (count === 0) return []
  const line = text.slice(0, firstAt).split('\n').length
  const message = `${count === mostCounted ? `${count} or more` : count} characters cannot be seen (${[...kinds].join(', ')}), the first in line ${line}. ${nothingMore}`
  return [{ code: 'HIDDEN_UNICODE', path, message }]
}

const webHost = /\bhttps?:\/\/([A-Za-z0-9.-]{1,253}|\[[0-9a-fA-F:.]{2,45}\])/g
const linkTarget = /\]\(\s{0,10}<?([^)\s>]{1,500})/g

function linksOut(path: string, text: string): LintWarning[] {
  const hosts = new Set<string>()
  for (const { 1: host = '' } of first(mostCounted, text.matchAll(webHost))) hosts.add(host.toLowerCase())
  const outside = new Set<string>()
  for (const { 1: target = '' } of first(mostCounted, text.matchAll(linkTarget))) {
    if (leadsOut(target, path)) outside.add(JSON.stringify(target.slice(0, 80)))
  }
  const warnings: LintWarning[] = []
  if (hosts.size > 0) {
    warnings.push({ code: 'LINK_OUT', path, message: `It points to ${some(hosts)}. ${nothingMore}` })
  }
  if (outside.size > 0) {
    const message = `It links to ${some(outside)}, outside the skill's own files. ${nothingMore}`
    warnings.push({ code: 'LINK_OUT', path, message })
  }
  return warnings
}

/** A path from the root or above the skill's folder, or an address that is neither of the web nor a place in a page. */
function leadsOut(target: string, from: string): boolean {
  if (/^https?:|^#|^mailto:/i.test(target)) return false
  if (/^[a-z][a-z0-9+.-]*:|^[/\\]/i.test(target)) return true
  return posix.normalize(posix.join(posix.dirname(from), target)).startsWith('..')
}

function* first<T>(most: number, items: Iterable<T>): Generator<T> {
  let count = 0
  for (const item of items) {
    yield item
    if (++count === most) return
  }
}

function some(names: ReadonlySet<string>): string {
  const shown = [...names].slice(0, mostNamed).join(', ')
  return names.size > mostNamed ? `${shown} and ${names.size - mostNamed} more` : shown
}
