import { mintSecret, type SecretKind, secretPrefixes } from '#platform/secrets.ts'

/**
 * Secrets of every shape that an export takes out. They are made here and of a seed, so that none stands in the
 * repository and every run has the same ones.
 */
export interface Planted {
  readonly what: string
  /** As it would stand in somebody's text. */
  readonly text: string
  /** What must not be found afterwards, in any spelling. */
  readonly secret: string
}

const lower = 'abcdefghijklmnopqrstuvwxyz'
const upper = lower.toUpperCase()
const digits = '0123456789'
const alnum = upper + lower + digits
const hex = '0123456789abcdef'
const url64 = `${alnum}_-`
const base64 = `${alnum}+/`

/** Of a seed: the same texts in every run. */
function createDraw(seed: number) {
  let state = seed
  const next = () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return state / 2 ** 32
  }
  return (alphabet: string, length: number) =>
    Array.from({ length }, () => alphabet[Math.floor(next() * alphabet.length)]).join('')
}

const draw = createDraw(20261116)
const plain = (what: string, secret: string): Planted => ({ what, text: secret, secret })
const named = (what: string, before: string, secret: string, behind = ''): Planted => ({
  what,
  text: before + secret + behind,
  secret,
})
const pem = (name: string) =>
  `-----BEGIN ${name}-----\n${Array.from({ length: 12 }, () => draw(base64, 64)).join('\n')}\n-----END ${name}-----`
const jwt = () => `eyJ${draw(url64, 33)}.eyJ${draw(url64, 80)}.${draw(url64, 43)}`

/** Beside what has a shape: what only this person's export must not have. */
export const personal = {
  email: 'Maria.Example+work@mail.example.org',
  facts: ['Kestrel Lane 14', 'blood type 0 negative', 'IBAN DE02 1203 0000 0000 2020 51'],
  secret: `${draw(lower, 9)}!${draw(alnum, 12)} ${draw(digits, 4)}`,
} as const

export const planted: readonly Planted[] = [
  ...Object.keys(secretPrefixes).map((kind) => plain(`our ${kind}`, mintSecret(kind as SecretKind))),
  plain('Anthropic', `sk-ant-api03-${draw(url64, 93)}AA`),
  plain('OpenAI', `sk-proj-${draw(url64, 120)}`),
  plain('OpenAI, short', `sk-${draw(alnum, 48)}`),
  plain('OpenRouter', `sk-or-v1-${draw(hex, 64)}`),
  plain('GitHub, personal', `ghp_${draw(alnum, 36)}`),
  plain('GitHub, server', `ghs_${draw(alnum, 36)}`),
  plain('GitHub, fine-grained', `github_pat_${draw(alnum, 22)}_${draw(alnum, 59)}`),
  plain('GitLab', `glpat-${draw(url64, 20)}`),
  plain('Grafana', `glsa_${draw(alnum, 32)}_${draw(hex, 8)}`),
  plain('Slack bot', `xoxb-${draw(digits, 12)}-${draw(digits, 12)}-${draw(alnum, 24)}`),
  plain('Slack app', `xapp-1-A${draw(upper, 10)}-${draw(digits, 13)}-${draw(hex, 64)}`),
  named(
    'Slack webhook',
    'https://hooks.slack.com/services/',
    `T${draw(upper, 8)}/B${draw(upper, 8)}/${draw(alnum, 24)}`,
  ),
  plain('Stripe', `sk_live_${draw(alnum, 24)}`),
  plain('Stripe, restricted', `rk_test_${draw(alnum, 24)}`),
  plain('Stripe webhook', `whsec_${draw(alnum, 32)}`),
  plain('npm', `npm_${draw(alnum, 36)}`),
  plain('PyPI', `pypi-AgEIcHlwaS5vcmc${draw(url64, 60)}`),
  plain('Hugging Face', `hf_${draw(alnum, 34)}`),
  plain('Groq', `gsk_${draw(alnum, 52)}`),
  plain('xAI', `xai-${draw(alnum, 80)}`),
  plain('SendGrid', `SG.${draw(url64, 22)}.${draw(url64, 43)}`),
  plain('DigitalOcean', `dop_v1_${draw(hex, 64)}`),
  plain('Databricks', `dapi${draw(hex, 32)}`),
  plain('Shopify', `shpat_${draw(hex, 32)}`),
  plain('Linear', `lin_api_${draw(alnum, 40)}`),
  plain('Vault', `hvs.${draw(url64, 90)}`),
  plain('Telegram', `${draw('123456789', 10)}:AA${draw(url64, 33)}`),
  plain('age', `AGE-SECRET-KEY-1${draw(upper + digits, 58)}`),
  plain('AWS access key', `AKIA${draw(`${upper}234567`, 16)}`),
  plain('AWS session key', `ASIA${draw(`${upper}234567`, 16)}`),
  named('AWS secret', 'aws_secret_access_key = ', `${draw(base64, 38)}1a`),
  named('AWS secret as setting', 'AWS_SECRET_ACCESS_KEY=', `${draw(base64, 38)}1a`),
  plain('Google', `AIza${draw(url64, 35)}`),
  plain('Google OAuth', `ya29.${draw(url64, 120)}`),
  plain('Google client secret', `GOCSPX-${draw(url64, 28)}`),
  named(
    'Azure storage',
    'DefaultEndpointsProtocol=https;AccountKey=',
    `${draw(base64, 86)}==`,
    ';EndpointSuffix=x',
  ),
  named('Azure shared access', 'https://a.example/b?sv=2024&sig=', `${draw(alnum, 43)}%3D`),
  plain('Azure client secret', `${draw(alnum, 3)}8Q~${draw(`${alnum}~.-`, 34)}`),
  plain('RSA key', pem('RSA PRIVATE KEY')),
  plain('PKCS 8 key', pem('PRIVATE KEY')),
  plain('OpenSSH key', pem('OPENSSH PRIVATE KEY')),
  plain('PGP key', pem('PGP PRIVATE KEY BLOCK')),
  plain('key without an end', pem('EC PRIVATE KEY').slice(0, -30)),
  plain('JWT', jwt()),
  plain(
    'JWT, encrypted',
    `eyJ${draw(url64, 60)}.${draw(url64, 64)}.${draw(url64, 16)}.${draw(url64, 40)}.${draw(url64, 22)}`,
  ),
  named('bearer', 'Authorization: Bearer ', draw(alnum, 40)),
  named('basic', 'authorization: Basic ', Buffer.from(`maria:${draw(alnum, 12)}`).toString('base64')),
  named('bearer without a header', 'curl -H "X: bearer ', draw(url64, 40), '" https://a.example'),
  named('cookie', 'Cookie: ', `sid=${draw(alnum, 32)}`),
  named('password in an address', 'postgres://app:', `${draw(alnum, 14)}9`, '@db.example:5432/app'),
  named('setting', 'DB_PASSWORD=', draw(lower, 12)),
  named('setting in JSON', '{\\"api_key\\": \\"', `${draw(alnum, 20)}7`, '\\"}'),
  named('private token', 'private-token: ', `${draw(alnum, 20)}7`),
]

export const harmless: readonly string[] = [
  '6f1ed002-ab12-4f3e-8f4b-1a2b3c4d5e6f',
  'exec_6f1ed002-ab12-4f3e-8f4b-1a2b3c4d5e6f',
  'd7198b5fa0e11c0d7198b5fa0e11c0d7198b5fa0',
  'sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
  'sha512-8kn5Nq8hqvTLuU2yGk8iSBPpe3r0QfM3Q3uTX0g5t4mYdQ1oZ4b9v2m1u6T8r7e5W3q2A1s0D9f8G7h6J5k4L3==',
  'commit 9fceb02 (HEAD -> main, origin/main)',
  'The price rose from $1,299.00 to 1.349,00 €',
  'const token = next(tokens)',
  'const secret = createSecretKey(bytes)',
  'password: process.env.DB_PASSWORD',
  'if (password === undefined) throw new Error("password: required")',
  'token: string; maxTokens: 100000',
  'Authorization: Bearer <token>',
  'The header Authorization: required',
  'Send `Authorization: Bearer YOUR_TOKEN`',
  'Bearer authentication is described in RFC 6750',
  'Basic understanding of accounting is assumed',
  '.sk-button-primary-large-disabled { color: red }',
  'a task-oriented-dialogue-systems-overview',
  'https://docs.example.org/guides/api-keys?page=2&sort=created_at#rotation',
  'http://localhost:3000/@fs/app/main.ts',
  'git@github.com:example/project.git',
  'postgres://localhost:5432/guildhall',
  '2026-11-16T00:02:28.000Z',
  '192.168.10.14:8443',
  '2001:0db8:85a3:0000:0000:8a2e:0370:7334',
  '+49 30 901820, extension 14',
  'ISBN 978-3-16-148410-0',
  'import { mintSecret } from "#platform/secrets.ts"',
  'data:text/plain;base64,SGVsbG8sIHdvcmxk',
  'eyJhIjoxfQ',
  'guild_live_…',
  'AKIA is what such ids begin with',
  'AIza and ghp_ and xoxb- are prefixes',
  '-----BEGIN is how such blocks begin',
  '{"type":"file","sizeBytes":104857600,"checksum":"9f86d081884c7d65"}',
  'npm_config_registry and npm_lifecycle_event are set by npm',
  'total_tokens: 48213, cached_tokens=12000',
  'Kestrel is a bird; a lane has 14 houses',
  'someone.else@mail.example.org',
]
