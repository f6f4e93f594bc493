import mime from 'mime'

/** What a file's name says it is; undefined when it says nothing. */
export function mediaTypeOf(path: string): string | undefined {
  // The registries know the ending of programs as that of films.
  if (/\.[cm]?tsx?$/.test(path)) return 'text/x-typescript'
  return mime.getType(path) ?? undefined
}
