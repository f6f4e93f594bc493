import { describeScope } from '@guildhall/contract'
import type { RawAnswer } from '#transports/http/raw-route.ts'
import { html, type Markup } from './markup.ts'
import { pageHeaders, pageStyle } from './page-style.ts'
import { formTarget, redirectPlace } from './redirect-uri.ts'

/** An app as its registrant describes it, and who that is, if anybody; or as it describes itself, and where. */
export type AppFacts = { readonly name: string } & (
  | { readonly registrant: string | undefined }
  | { readonly address: string }
)

export interface SignInFacts {
  readonly app: AppFacts
  readonly ways: readonly { readonly name: string; readonly href: string }[]
  readonly problem?: string
}

export interface ConsentFacts {
  readonly app: AppFacts
  readonly action: string
  readonly csrf: string
  readonly person: string
  readonly otherPersonHref: string
  readonly redirectUri: string
  readonly scopes: readonly string[]
  readonly strict: boolean
  /** The one place where its tokens are good; left out when they are good everywhere. */
  readonly onlyAt?: string
  readonly workspaces: readonly { readonly id: string; readonly name: string }[]
}

type Page = RawAnswer & { readonly headers: Record<string, string> }

export function signInPage({ app, ways, problem }: SignInFacts): Page {
  return page(
    'Sign in to continue',
    html`<h1>Sign in to continue</h1>
<p class="lead">An app asks for access to a Guildhall account. Sign in to see what it asks for; nothing is granted yet.</p>
${claim(app)}
${problem === undefined ? [] : html`<p class="problem" role="alert">${problem}</p>`}
${
  ways.length === 0
    ? html`<p class="problem" role="alert">Nobody can sign in here: no identity provider is set up.</p>`
    : ways.map(
        (way) => html`<div class="dock one"><a class="btn allow" href="${way.href}">${way.name}</a></div>`,
      )
}`,
  )
}

export function consentPage(facts: ConsentFacts): Page {
  const { app, onlyAt, redirectUri, workspaces } = facts
  return page(
    'An app asks for access',
    html`<h1>An app asks for access to your account</h1>
${claim(app)}
<h2>What Guildhall knows about it</h2>
<dl class="card">
${
  'registrant' in app
    ? fact('Registered by', html`${app.registrant ?? 'itself: nobody answers for it'}`)
    : fact('Described by nobody but itself, at', html`<span class="exact">${app.address}</span>`)
}
${fact('Sends you back to', html`<span class="exact">${redirectPlace(redirectUri)}</span>`)}
${fact('You are signed in as', html`${facts.person} · <a href="${facts.otherPersonHref}">somebody else?</a>`)}
</dl>
${!hasRegistrant(app) && !redirectUri.startsWith('https:') ? localWarning : []}
<h2>What it may do</h2>
<ul class="card">
${permissions(facts)}
</ul>
${onlyAt === undefined ? [] : html`<p class="note">All of it through the tools of MCP alone: what it is given is good at <span class="exact">${onlyAt}</span> and nowhere else.</p>`}
<form method="post" action="${facts.action}">
<input type="hidden" name="csrf" value="${facts.csrf}">
<h2><label for="workspace">In which workspace</label></h2>
<select id="workspace" name="workspace">
${workspaces.map(({ id, name }) => html`<option value="${id}">${name}</option>`)}
</select>
<p class="note">It can never answer requests of your agents, make API keys or change who is a member.</p>
<div class="dock">
<button class="btn" name="decision" value="deny">Deny</button>
<button class="btn allow" name="decision" value="allow">Allow</button>
</div>
</form>`,
    ["'self'", formTarget(redirectUri)],
  )
}

/** For a person who began to sign in on a machine without a browser, and types there what they read here. */
export function codePage(code: string): Page {
  return page(
    'Your sign-in code',
    html`<h1>Your sign-in code</h1>
<p class="lead">Type or paste it where you began to sign in, within five minutes. It works once.</p>
<p class="card"><code class="exact">${code}</code></p>
<p class="problem" role="alert">Whoever gets it from you is signed in as you. Did somebody send you here, or ask you for it? Then close this page: nothing has happened yet.</p>`,
  )
}

/** With the way back that an app has chosen, where there is one. */
export function errorPage(problem: string, back?: string): Page {
  return page(
    'This did not work',
    html`<h1>This did not work</h1>
<p class="problem" role="alert">${problem}</p>
<p class="note">Nothing was granted. Go back to the app and start again.</p>
${back === undefined ? [] : wayBack(back)}`,
  )
}

function wayBack(address: string): Markup {
  return html`<p class="note">The app that sent you here wants you back at this place, which it has chosen:</p>
<div class="dock one"><a class="btn" href="${address}">${redirectPlace(address)}</a></div>`
}

function permissions({ scopes, strict }: ConsentFacts): Markup[] {
  const account = strict
    ? scopes.flatMap((scope) => (scope in enforced ? permission(scope, ...words(scope), false) : []))
    : [permission(accountScopesOf(scopes), 'Full account access', fullAccessText, true)]
  const named = scopes.flatMap((scope) => {
    const info = describeScope(scope)
    return info ? permission(scope, info.description, '', info.sensitive) : []
  })
  return [...account, ...named]
}

const fullAccessText =
  'Read and change everything in the workspace below in your name, run skills and spend credits. Guildhall does not ' +
  'narrow this down to what the app asked for.'

const enforced: Readonly<Record<string, readonly [title: string, text: string]>> = {
  read: ['Read', 'See everything in the workspace below.'],
  write: ['Change', 'Change things in the workspace below in your name, run skills and spend credits.'],
  admin: ['Everything an app can do', 'Read and change everything in the workspace below in your name.'],
}

function words(scope: string): readonly [title: string, text: string] {
  return enforced[scope] ?? [scope, '']
}

function accountScopesOf(scopes: readonly string[]): string {
  const asked = scopes.filter((scope) => scope in enforced)
  return asked.length > 0 ? asked.join(' ') : 'any scope'
}

function permission(scope: string, title: string, text: string, sensitive: boolean): Markup {
  return html`<li class="may${sensitive ? ' sensitive' : ''}"><b>${title}${
    sensitive ? html` <span class="mark">Sensitive</span>` : ''
  }</b>${text === '' ? '' : html`<p>${text}</p>`}<span class="exact">${scope}</span></li>
`
}

function hasRegistrant(app: AppFacts): boolean {
  return 'registrant' in app && app.registrant !== undefined
}

/** Who answers for the address that an app is known by is the one thing about it that was checked. */
function claim(app: AppFacts): Markup {
  const host = 'address' in app ? html`<p class="host">${new URL(app.address).host}</p>` : ''
  return html`${host}<p class="claim"><span>It says it is called</span><q>${app.name}</q></p>`
}

const localWarning = html`<p class="problem" role="alert">It sends you back to this machine, where any program can say that it is this app. Go on only if you have just started it yourself.</p>`

function fact(label: string, value: Markup): Markup {
  return html`<div class="fact"><dt>${label}</dt><dd>${value}</dd></div>`
}

function page(title: string, content: Markup, formTargets: readonly string[] = []): Page {
  const { markup } = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title} · Guildhall</title>
<style>${{ markup: pageStyle }}</style>
</head>
<body>
<main>
<p class="house">Guildhall</p>
${content}
</main>
</body>
</html>
`
  return { type: 'text/html; charset=utf-8', body: markup, headers: pageHeaders(formTargets) }
}
