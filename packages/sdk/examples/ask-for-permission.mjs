/** An agent that asks: for a scope it lacks, as it needs it, and for a decision that is not its own. */
import { Guildhall, PermissionDeniedError } from '@guildhall/sdk'

const guild = new Guildhall({
  permissions: {
    onMissing: 'ask',
    reason: 'Sign the weekly report with your name',
    mode: 'session',
    onAsk: ({ scopes, url }) => console.log(`Asked for ${scopes.join(', ')}: ${url}`),
  },
})

try {
  // Refused for a missing scope, this waits for the person, and sends the same request again.
  const { name } = await guild.profile.get()
  console.log(`Works for ${name}`)
} catch (error) {
  if (!PermissionDeniedError.is(error)) throw error
  console.log(`Not allowed: ${error.denyReason ?? 'no reason was given'}`)
}

const said = await guild.asks.ask(
  {
    question: 'Send the report to everybody?',
    choices: [
      { id: 'send', label: 'Send it', kind: 'allow' },
      { id: 'keep', label: 'Keep it', kind: 'deny' },
    ],
  },
  { onAsk: ({ url }) => console.log(`Asked a question: ${url}`) },
)
console.log(`The person said ${said.choice ?? said.status}`)
