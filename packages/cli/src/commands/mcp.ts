import type { Handler } from '../command.ts'
import type { Context } from '../context.ts'
import { exit } from '../exit-codes.ts'
import { usage } from '../failure.ts'
import { say } from '../output/safe-text.ts'

interface Form {
  /** Where it belongs. */
  where: string
  text: (url: string) => string
}

/** How a program names a variable of its environment: so it reads the key by itself, and none stands in a file. */
const variable = (name: string) => `$\{${name}}`

const forms: Readonly<Record<string, Form>> = {
  claude: {
    where: '.mcp.json of a project',
    text: (url) => server({ type: 'http', url, headers: { 'x-api-key': variable('GUILD_API_KEY') } }),
  },
  cursor: {
    where: '~/.cursor/mcp.json',
    text: (url) => server({ url, headers: { 'x-api-key': variable('env:GUILD_API_KEY') } }),
  },
  codex: {
    where: '~/.codex/config.toml',
    text: (url) =>
      [
        '[mcp_servers.guildhall]',
        `url = ${JSON.stringify(url)}`,
        'env_http_headers = { "x-api-key" = "GUILD_API_KEY" }',
      ].join('\n'),
  },
  json: {
    where: 'the settings of your program',
    text: (url) => JSON.stringify({ url, headers: { 'x-api-key': '$GUILD_API_KEY' } }, null, 2),
  },
}

function server(entry: object): string {
  return JSON.stringify({ mcpServers: { guildhall: entry } }, null, 2)
}

/** What a program needs to reach this deployment over MCP. */
export const config: Handler = async (context) => {
  const { input, out } = context
  const program = input.argument('PROGRAM')
  const form = Object.hasOwn(forms, program) ? forms[program] : undefined
  if (!form)
    throw usage(`There is no form for "${program}".`, `guild mcp config ${Object.keys(forms).join('|')}`)
  const url = `${addressOf(context)}/mcp/`
  const text = form.text(url)
  out.document({ program, url, where: form.where, text }, text)
  out.talk(
    say`Put it into ${form.where}, and give that program a key of its own: GUILD_API_KEY in its environment.`,
  )
  return exit.done
}

function addressOf({ settings }: Context): string {
  if (settings.baseUrl) return settings.baseUrl
  throw usage(
    'No address is known.',
    'guild login https://guild.example',
    'guild mcp config claude --base-url https://guild.example',
  )
}
