import { createHash } from 'node:crypto'

/**
 * What can be pressed is not there for the first moments: else a page that has somebody click twice could put this one
 * under the second click. Where a pointer hovers it must also have come to the page that long ago, since a page can load
 * unseen and come to light between two clicks; keys and fingers are not held up by that.
 */
const guard = `
@keyframes not-yet { from, to { visibility: hidden } }
a, button { animation: not-yet .7s }
@media (any-hover: hover) and (not (any-pointer: coarse)) {
  a, button { pointer-events: none }
  html:hover :is(a, button) { pointer-events: auto; transition: pointer-events 0s .7s allow-discrete }
}
`

/** The app's colours, type and shapes, without its fonts: a page of consent loads nothing from anywhere. */
export const pageStyle = `
:root {
  color-scheme: light dark;
  --bg: light-dark(#F6F5F1, #121311); --surface: light-dark(#FFFFFF, #1B1C1A);
  --surface-2: light-dark(#EFEDE7, #242623); --line: light-dark(#E2DFD7, #2D2F2B);
  --line-strong: light-dark(#8C887D, #74776F); --text: light-dark(#1A1B18, #ECEBE6);
  --text-2: light-dark(#565850, #ADAEA5); --text-3: light-dark(#6A6B62, #94968C);
  --accent: light-dark(#0B6657, #5CCBB1); --accent-hover: light-dark(#084F44, #7ADBC4);
  --on-accent: light-dark(#FFFFFF, #06231D); --seal: light-dark(#8A4B08, #F0B45C);
  --seal-soft: light-dark(#FBEEDA, #35270F); --seal-line: light-dark(#BD7C2C, #A9762B);
  --bad: light-dark(#B3261E, #FF9086); --bad-soft: light-dark(#FBE7E4, #3B1A17);
  --focus: light-dark(#1B4FD1, #9DBBFF);
  --sans: "Instrument Sans", ui-sans-serif, system-ui, -apple-system, "Segoe UI", Roboto, sans-serif;
  --serif: "Newsreader", "Iowan Old Style", Georgia, serif;
  --mono: "Geist Mono", ui-monospace, "SF Mono", Menlo, Consolas, monospace;
}
* { box-sizing: border-box; margin: 0 }
body {
  min-height: 100vh; padding: 24px 16px 40px; background: var(--bg); color: var(--text);
  font: .9375rem/1.4375rem var(--sans); font-variant-numeric: tabular-nums; overflow-wrap: anywhere;
}
main { max-width: 480px; margin: 0 auto }
.house { font-weight: 650; letter-spacing: -.01em; color: var(--text-2); margin-bottom: 20px }
h1 { font-size: 1.5rem; line-height: 1.9375rem; font-weight: 600; letter-spacing: -.02em; text-wrap: balance }
h2 { font-size: .8125rem; line-height: 1.25rem; font-weight: 600; color: var(--text-2); margin: 24px 0 8px }
.lead { margin-top: 8px; color: var(--text-2) }
.host { margin-top: 16px; font: 600 1.75rem/2.25rem var(--mono) }
.claim { margin-top: 16px; padding-left: 14px; border-left: 3px solid var(--line-strong) }
.claim span { display: block; font-size: .8125rem; line-height: 1.25rem; color: var(--text-3) }
.claim q { font: italic 1.25rem/1.75rem var(--serif) }
.card { background: var(--surface); border: 1px solid var(--line); border-radius: 14px; overflow: hidden }
.card > * { padding: 12px 16px }
.card > * + * { border-top: 1px solid var(--line) }
.fact dt { font-size: .8125rem; line-height: 1.25rem; color: var(--text-3) }
.exact { font: .8125rem/1.25rem var(--mono) }
.may b { display: block; font-weight: 600 }
.may p { font-size: .8125rem; line-height: 1.25rem; color: var(--text-2) }
.may .exact { color: var(--text-3) }
.sensitive { border-left: 3px solid var(--seal-line) }
.mark {
  display: inline-block; padding: 0 8px; white-space: nowrap; border-radius: 6px; background: var(--seal-soft);
  color: var(--seal); font-size: .75rem; line-height: 1.25rem; font-weight: 600;
}
ul, dl { padding: 0; list-style: none }
select {
  width: 100%; min-height: 44px; padding: 0 12px; font: 1rem var(--sans); color: var(--text);
  background: var(--surface); border: 1px solid var(--line-strong); border-radius: 10px;
}
.note { margin-top: 12px; font-size: .8125rem; line-height: 1.25rem; color: var(--text-2) }
.problem { margin: 16px 0 0; padding: 12px 16px; border-radius: 10px; background: var(--bad-soft); color: var(--bad) }
.dock { display: grid; grid-template-columns: 1fr 2fr; gap: 8px; margin-top: 24px }
.dock.one { grid-template-columns: 1fr }
.btn {
  display: flex; align-items: center; justify-content: center; min-height: 52px; padding: 8px 16px;
  font: 600 .9375rem/1.25rem var(--sans); text-decoration: none; text-align: center; cursor: pointer;
  color: var(--text); background: var(--surface); border: 1px solid var(--line-strong); border-radius: 10px;
}
.btn.allow { color: var(--on-accent); background: var(--accent); border-color: transparent }
.btn.allow:hover { background: var(--accent-hover) }
a { color: var(--accent) }
:focus-visible { outline: 3px solid var(--focus); outline-offset: 2px }
${guard}`

const styleHash = createHash('sha256').update(pageStyle).digest('base64')

/**
 * Nothing but the style above, no frame around it, and forms only to the named places. With another referrer policy
 * the browser would call the origin of the page's own form null.
 */
export function pageHeaders(formTargets: readonly string[]): Record<string, string> {
  const targets = formTargets.length > 0 ? formTargets.join(' ') : "'none'"
  return {
    'content-security-policy':
      `default-src 'none'; style-src 'sha256-${styleHash}'; form-action ${targets}; ` +
      "base-uri 'none'; frame-ancestors 'none'",
    'referrer-policy': 'same-origin',
  }
}
