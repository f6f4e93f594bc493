export type Interaction = { uid: string; prompt: string; client: string; login: string; problem?: string }

export function interactionPage({ uid, prompt, client, login, problem }: Interaction): string {
  const action = `/interaction/${escapeHtml(uid)}`
  const fields =
    prompt === 'login'
      ? `<label for="login">Name or email address</label>
      <input id="login" name="login" value="${escapeHtml(login)}" placeholder="alice" autocomplete="username" autofocus required>
      <p class="note">Any name works and there is no password: <b>alice</b> signs in as alice@example.test.</p>`
      : `<p>${escapeHtml(client)} asks for your agreement once more.</p>`
  return page(
    'Development sign-in',
    `<form action="${action}" method="post">
      <input type="hidden" name="prompt" value="${escapeHtml(prompt)}">
      ${problem ? `<p class="problem" role="alert">${escapeHtml(problem)}</p>` : ''}
      ${fields}
      <button type="submit">Continue to ${escapeHtml(client)}</button>
      <a href="${action}/cancel">Cancel</a>
    </form>`,
  )
}

export function errorPage(problem: string): string {
  return page(
    'Sign-in did not work',
    `<p class="problem" role="alert">${escapeHtml(problem)}</p>
    <p class="note">Go back to the application and start the sign-in again.</p>`,
  )
}

function page(title: string, content: string): string {
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>${escapeHtml(title)}</title>
    <style>
      :root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif }
      body { max-width: 24rem; margin: 12vh auto; padding: 0 1.25rem }
      input:not([type=hidden]), button { font: inherit; width: 100%; box-sizing: border-box; padding: .6rem .75rem }
      label { font-weight: 600 }
      .note { font-size: .875rem; opacity: .75 }
      .problem { color: #c0392b }
      a { display: block; margin-top: 1rem; text-align: center; color: inherit }
    </style>
  </head>
  <body>
    <h1>${escapeHtml(title)}</h1>
    ${content}
  </body>
</html>
`
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}
