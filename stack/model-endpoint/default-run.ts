import type { ModelRequest } from './protocol.ts'
import { sampleOf } from './sample.ts'
import type { Step } from './step.ts'

const shownChars = 2000
const endOfReport = 'END_OF_REPORT'

/** What happens without a script: look at the skill, write a report, say so. Without a shell: answer in words. */
export function defaultStep(request: ModelRequest, repliesSince: number): Step {
  const asked = lastUserText(request)
  if (!request.tools.includes('bash')) return closingStep(request, answerInWords(asked, request.tools))
  if (repliesSince === 0) {
    return { say: 'I will look at the skill first.', tools: [bash('ls -R /skill && cat /skill/SKILL.md')] }
  }
  if (repliesSince === 1) {
    return {
      say: 'I will write down what I found.',
      tools: [bash(reportCommand(asked, lastOutput(request)))],
    }
  }
  return closingStep(request, 'Done. What was asked and what the skill holds is in /workspace/report.md.')
}

/** Where a schema was given the last word is an object that fits it. */
export function closingStep({ schema }: ModelRequest, say: string): Step {
  return schema ? { object: sampleOf(schema) } : { say }
}

function bash(command: string) {
  return { name: 'bash', input: { command } }
}

function reportCommand(asked: string, seen: string): string {
  const report = `# Report\n\n## Asked\n\n${shorten(asked)}\n\n## Seen\n\n${shorten(seen)}\n`
  const body = report.replaceAll(endOfReport, '')
  return [
    'mkdir -p /workspace',
    `cat > /workspace/report.md <<'${endOfReport}'\n${body}${endOfReport}`,
    'if [ -d /skill/scripts ]; then ls /skill/scripts; fi',
  ].join('\n')
}

function answerInWords(asked: string, tools: readonly string[]): string {
  const offered = tools.length > 0 ? ` I was offered ${tools.join(', ')} and needed none of it.` : ''
  return `You asked: ${shorten(asked)}${offered} (This is the scripted model: configure MODELS for a real one.)`
}

function lastUserText({ turns }: ModelRequest): string {
  const turn = turns.findLast(({ role }) => role === 'user')
  return turn?.role === 'user' ? turn.text : ''
}

function lastOutput({ turns }: ModelRequest): string {
  const turn = turns.findLast(({ role }) => role === 'tool')
  return turn?.role === 'tool' ? turn.outputs.join('\n') : ''
}

function shorten(text: string): string {
  return text.length > shownChars ? `${text.slice(0, shownChars)}…` : text
}
