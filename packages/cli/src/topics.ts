import { exitMeanings } from './exit-codes.ts'
import { globalFlags } from './flags.ts'

export interface Topic {
  summary: string
  text: () => string
}

const environmentRows: readonly (readonly [string, string])[] = [
  ['GUILD_API_KEY', 'Key to act with. Wins over every stored key; nothing is then read from keyring or file'],
  ['GUILD_BASE_URL', 'Address of the deployment'],
  ['GUILD_WORKSPACE', 'Workspace to act in; a key must belong to it'],
  ['GUILD_PROFILE', 'Which stored key to use'],
  ['GUILD_AUTH_TOKEN', "A person's session, for tests and operators; never enough for approvals approve"],
  ['GUILD_ASK', 'Reason: ask a person for a missing scope, and wait'],
  ['GUILD_NO_INPUT', 'Never prompt, never open a browser'],
  ['GUILD_STORAGE', 'keyring or file: where login keeps a key'],
  ['GUILD_CONFIG_DIR', 'Folder for config.json and credentials.json'],
  ['GUILD_BROWSER, BROWSER', 'Program that opens an address'],
  ['GUILD_FORCE_TTY', 'Columns: write as for a terminal of that width'],
  ['GUILD_DEBUG', '1: show requests on stderr, without bodies'],
  ['CI', 'No prompts, no browser'],
  ['NO_COLOR, FORCE_COLOR, TERM', 'Colours, as everywhere'],
  ['HTTPS_PROXY, HTTP_PROXY, NO_PROXY', 'Proxy'],
  ['NODE_EXTRA_CA_CERTS', 'A certificate authority of your own'],
]

export const topics: Readonly<Record<string, Topic>> = {
  agents: { summary: 'One page for a model that uses guild', text: () => agentsPage },
  ci: { summary: 'In a pipeline', text: () => ciPage },
  environment: {
    summary: 'Variables',
    text: () =>
      ['Flag, then variable, then .guild.json, then profile.', '', ...rows(environmentRows)].join('\n'),
  },
  'exit-codes': {
    summary: 'What the number says',
    text: () => rows(Object.entries(exitMeanings)).join('\n'),
  },
  flags: {
    summary: 'Flags that every command takes',
    text: () =>
      rows(
        Object.entries(globalFlags).map(([name, { short, value, optionalValue, words }]) => [
          `${short ? `-${short}, ` : ''}--${name}${value ? (optionalValue ? `[=${value}]` : ` ${value}`) : ''}`,
          words,
        ]),
      ).join('\n'),
  },
  output: { summary: 'What goes where', text: () => outputPage },
}

function rows(pairs: readonly (readonly [string, string])[]): string[] {
  const width = Math.max(...pairs.map(([name]) => name.length)) + 2
  return pairs.map(([name, words]) => `  ${name.padEnd(width)}${words}`)
}

const agentsPage = `You are an agent and use guild for a person. You hold a key of your own; people decide what it may do.

1. Sign in, in two steps, because a person has to confirm the code somewhere else:
     guild login https://guild.example --no-wait --scopes run --json
   Show user_code and verification_url_complete to the person. Then, which blocks until they have decided:
     guild login --resume --json
   It exits with 0 when approved, 5 when denied, 6 when nobody came in time.

2. See what you may do:
     guild whoami --json

3. Exit 5 with "missing scope": ask, and wait for the person.
     guild perms ask tool:execute:weekly-report --reason "Build the weekly report" --wait --json
   Or let the command ask by itself: add --ask="why you need it".

4. Run a skill and get its files. The last line on stdout is always {"type":"guild.result", ...}.
     guild run csv-report "Summarise the attached file" --attach orders.csv -o out --json

5. Run a workflow. Exit 6 means that it waits for a person: tell them, then watch on.
     guild wf launch pay-order -i customer=Ada --watch --json
     guild wf watch RUN --through --json

6. Ask the person anything else, on their phone, before you act:
     guild ask "Push to main?" --action "git push origin main" --json
   It exits with 0 for yes, 5 for no, 6 when nobody answered. Nothing is granted by it.

Rules
  stdout is data, stderr is talk. With --json stdout holds JSON only; an error is one line of JSON on stderr
  whose error.next lists commands to run.
  Nothing prompts when there is no terminal. Never put a key into an argument: use GUILD_API_KEY or stdin.
  You cannot approve what you asked for: approvals are for people.
  guild help --json is the whole surface. guild help exit-codes says what each number means.`

const ciPage = `Make a key for the pipeline once, as a person:
  guild keys create --label ci --scopes tool:execute --expires 90d
Store it as a secret of the pipeline, and set GUILD_API_KEY and GUILD_BASE_URL. Nothing is then written to disk.

  guild run weekly-report "last 7 days" --json --idempotency-key "$GITHUB_RUN_ID-report"

The idempotency key makes a repeated job attach to the first run for 24 hours. CI being set, nothing prompts and
nothing opens. In GitHub Actions errors are also printed as ::error::.`

const outputPage = `stdout is data, stderr is talk.

On a terminal    tables, colours, relative times, one live line on stderr
In a pipe        the same facts as lines with tabs, no colours, whole ids, ISO times; run prints the final text only
--json           one JSON document; indented on a terminal. Lists are always {"items": [...], "more": true|false}
--json=a,b       only these fields (of each item)
--get a.0.b      one value, raw
Streams          run, exec watch, wf watch, wf launch --watch, listen, chat, trace show --follow write one line of
                 JSON per event; the last line is {"type":"guild.result", ...} with the exit code
Errors           with --json one line on stderr: {"error":{"code","message","exitCode","next",...}}

What agents and skills wrote is untrusted: control characters and escape sequences are shown as \\x1b on a terminal,
never obeyed. Piped JSON is exact.`
