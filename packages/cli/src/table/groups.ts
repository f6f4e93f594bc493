import type { Command } from '../command.ts'
import { accountCommands } from './account.ts'
import { decisions } from './decisions.ts'
import { more } from './more.ts'
import { people } from './people.ts'
import { records } from './records.ts'
import { running } from './running.ts'
import { signIn } from './sign-in.ts'
import { skillCommands } from './skills.ts'
import { workflowCommands } from './workflows.ts'

export interface Group {
  title: string
  commands: readonly Command[]
}

export const groups: readonly Group[] = [
  { title: 'Sign in', commands: signIn },
  { title: 'Ask people', commands: people },
  { title: 'Run skills', commands: running },
  { title: 'Skills', commands: skillCommands },
  { title: 'Workflows', commands: workflowCommands },
  { title: 'Look back, talk, listen', commands: records },
  { title: 'For people', commands: decisions },
  { title: 'Account', commands: accountCommands },
  { title: 'More', commands: more },
]
