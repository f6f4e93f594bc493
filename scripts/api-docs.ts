import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'

/**
 * Builds `build/api/index.html` from `docs/api/openapi.json`: one file that needs neither a server nor the network. It
 * only shows: nothing can be sent from it.
 */
const style = readFileSync(new URL(import.meta.resolve('swagger-ui-dist/swagger-ui.css')), 'utf8')
const viewer = readFileSync(new URL(import.meta.resolve('swagger-ui-dist/swagger-ui-bundle.js')), 'utf8')
const document = JSON.parse(readFileSync(new URL('../docs/api/openapi.json', import.meta.url), 'utf8'))
const folder = new URL('../build/api/', import.meta.url)

// Within a script element only its end and a comment's beginning mean anything to a page.
const inScript = (text: string) => text.replaceAll('</script', '<\\/script').replaceAll('<!--', '<\\!--')
const options = `{ dom_id: '#api', spec: ${JSON.stringify({ ...document, paths: whole(document.paths) }).replaceAll('<', '\\u003c')},
  deepLinking: true, filter: true, docExpansion: 'list', supportedSubmitMethods: [], validatorUrl: null,
  defaultModelsExpandDepth: 0, showExtensions: true }`
const page = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta http-equiv="content-security-policy" content="default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:">
<title>Guildhall API</title>
<style>${style}
.auth-wrapper { display: none !important }</style>
<div id="api"></div>
<script>${inScript(viewer)}</script>
<script>SwaggerUIBundle(${options})</script>
</html>
`

/** With what stands at each reference in its place: of a page without an address the viewer resolves none in schemas. */
function whole(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(whole)
  const { $ref } = value as { $ref?: unknown }
  if (typeof $ref !== 'string') {
    return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, whole(part)]))
  }
  const [section = '', name = ''] = $ref.split('/').slice(2)
  const piece = whole(document.components[section][name]) as object
  return section === 'schemas' ? { title: name, ...piece } : piece
}

mkdirSync(folder, { recursive: true })
writeFileSync(new URL('index.html', folder), page)
console.log('build/api/index.html')
