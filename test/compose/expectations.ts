import type { RequestName } from '../../stack/model-endpoint/compose/requests.ts'

/** One run of what was made, and what it must do. What is a function judges by itself. */
export interface Trial {
  readonly inputs: object
  /** What people are asked, in order: words that the question has, and what they say. */
  readonly asked?: readonly { readonly words: readonly string[]; readonly answer: unknown }[]
  /** The result, every key of it that is named here. Nothing is looked at when it is left out. */
  readonly gives?: Readonly<Record<string, unknown>>
  /** The words of the error it must fail with. */
  readonly fails?: string
  readonly effects?: readonly string[]
  readonly atLeastMs?: number
}

export type Expectation =
  | {
      readonly trials: readonly Trial[]
      /** Whether the first trial is the run that the agent was asked to launch. */
      readonly launched?: true
    }
  /** Nothing may be installed, and the person be told why: any of these words. */
  | { readonly declined: readonly string[] }

const yes = { approved: true }
const no = { approved: false, note: 'Not today' }
const has = (word: string) => (given: unknown) => typeof given === 'string' && given.includes(word)
const mail = (to: string, subject: string) => `mail to ${to}@example.test: ${subject}`

export const expectations: Readonly<Record<RequestName, Expectation>> = {
  greet: {
    trials: [
      { inputs: { name: 'Ada' }, gives: { greeting: 'Hello, Ada!' } },
      { inputs: { name: '{x}' }, gives: { greeting: 'Hello, {x}!' } },
    ],
  },
  'contact-card': {
    trials: [
      {
        inputs: { customer: { name: 'Ada', address: { city: 'London' } } },
        gives: { name: 'Ada', city: 'London' },
      },
    ],
  },
  'stamp-order': {
    trials: [{ inputs: { order: 'A7' }, gives: { order: 'A7', source: 'shop', runId: has('run_') } }],
  },
  'add-up': {
    trials: [
      {
        inputs: {
          items: [
            { price: 12, quantity: 3 },
            { price: 3, quantity: 2 },
          ],
        },
        gives: { total: 42 },
      },
      { inputs: { items: [{ price: 0.5, quantity: 3 }] }, gives: { total: 1.5 } },
    ],
  },
  'open-orders': {
    trials: [
      {
        inputs: {
          orders: [
            { number: 'A1', status: 'open' },
            { number: 'A2', status: 'shipped' },
          ],
        },
        gives: { numbers: ['A1'] },
      },
      { inputs: { orders: [{ number: 'A2', status: 'shipped' }] }, gives: { numbers: [] } },
    ],
  },
  'sort-names': {
    trials: [{ inputs: { names: ['Cy', 'Ada', 'Bo'] }, gives: { names: ['Ada', 'Bo', 'Cy'] } }],
  },
  'ask-name': {
    trials: [
      { inputs: {}, asked: [{ words: ['name of the project'], answer: 'Guild' }], gives: { name: 'Guild' } },
    ],
  },
  'pick-size': {
    trials: [{ inputs: {}, asked: [{ words: ['"S"', '"M"', '"L"'], answer: 'M' }], gives: { size: 'M' } }],
  },
  'approve-payment': {
    launched: true,
    trials: [
      { inputs: {}, asked: [{ words: ['42', 'Ada'], answer: yes }], gives: { approved: true } },
      {
        inputs: { amount: 7, payee: 'Bo' },
        asked: [{ words: ['7', 'Bo'], answer: no }],
        gives: { approved: false, note: 'Not today' },
      },
    ],
  },
  'mail-after-yes': {
    trials: [
      {
        inputs: { to: 'ada@example.test', text: 'Hello' },
        asked: [{ words: ['ada@example.test'], answer: yes }],
        gives: { approved: true },
        effects: [mail('ada', 'Note')],
      },
      {
        inputs: { to: 'bo@example.test', text: 'Hello' },
        asked: [{ words: ['bo@example.test'], answer: no }],
        gives: { approved: false },
        effects: [],
      },
    ],
  },
  'order-and-mail': {
    trials: [
      {
        inputs: { number: 'A2' },
        gives: { status: 'shipped', sent: true },
        effects: [mail('clerk', 'Order')],
      },
    ],
  },
  'large-payments': {
    trials: [
      { inputs: { amount: 99 }, gives: { approved: true } },
      { inputs: { amount: 100 }, asked: [{ words: ['100'], answer: no }], gives: { approved: false } },
    ],
  },
  'mail-if-open': {
    trials: [
      { inputs: { number: 'A1' }, effects: [mail('clerk', 'Open')] },
      { inputs: { number: 'A2' }, effects: [] },
    ],
  },
  'until-done': { trials: [{ inputs: { job: 'j1' }, gives: { job: 'j1', seen: 3 } }] },
  'five-times': { trials: [{ inputs: { job: 'j1' }, gives: { seen: 5 } }] },
  'all-statuses': {
    trials: [
      { inputs: { numbers: ['A1', 'A2', 'A3'] }, gives: { statuses: ['open', 'shipped', 'open'] } },
      { inputs: { numbers: [] }, gives: { statuses: [] } },
      { inputs: { numbers: ['A1', 'B9'] }, fails: 'There is no order B9' },
    ],
  },
  'mail-everybody': {
    trials: [
      {
        inputs: { addresses: ['ada@example.test', 'bo@example.test'] },
        gives: { count: 2 },
        effects: [mail('ada', 'News'), mail('bo', 'News')],
      },
    ],
  },
  'wait-a-second': { trials: [{ inputs: { text: 'later' }, gives: { text: 'later' }, atLeastMs: 1000 }] },
  'not-before': { trials: [{ inputs: { text: 'now' }, gives: { text: 'now' } }] },
  'repeat-word': { trials: [{ inputs: { word: 'marmalade' }, gives: { said: has('marmalade') } }] },
  'judge-text': {
    trials: [
      {
        inputs: { text: 'A fine day.' },
        gives: { verdict: (given: unknown) => given === 'good' || given === 'bad' },
      },
    ],
  },
  'say-each': {
    trials: [
      {
        inputs: { words: ['plum', 'quince'] },
        gives: {
          said: (given: unknown) =>
            Array.isArray(given) && given.length === 2 && has('plum')(given[0]) && has('quince')(given[1]),
        },
      },
    ],
  },
  'make-report': { trials: [{ inputs: { text: 'The usual one' }, gives: { status: 'completed' } }] },
  'fetch-page': { trials: [{ inputs: { path: 'about' }, fails: 'HTTP_TOOL_ALLOW' }] },
  'charge-card': {
    trials: [{ inputs: { amount: 12 }, gives: { charged: 12 }, effects: ['charged 12'] }],
  },

  'mail-clerk': {
    trials: [{ inputs: { text: 'Hello' }, gives: { sent: true }, effects: [mail('clerk', 'Message')] }],
  },
  welcome: {
    trials: [{ inputs: { person: { names: ['Ada', 'Lovelace'] } }, gives: { text: 'Welcome, Ada!' } }],
  },
  'check-and-tell': {
    trials: [{ inputs: { number: 'A1' }, gives: { status: 'open' }, effects: [mail('clerk', 'Check')] }],
  },
  'order-size': {
    trials: [
      { inputs: { number: 'A2' }, effects: [mail('boss', 'Large')] },
      { inputs: { number: 'A1' }, asked: [{ words: ['Anything else?'], answer: 'No' }], effects: [] },
    ],
  },
  'late-order': { trials: [{ inputs: { number: 'A1' }, gives: { line: 'A1 is open' } }] },
  'short-nap': { trials: [{ inputs: {}, gives: { done: true }, atLeastMs: 500 }] },
  'each-order': {
    trials: [
      {
        inputs: { numbers: ['A1', 'A2'] },
        gives: {
          orders: [
            { number: 'A1', status: 'open', total: 40 },
            { number: 'A2', status: 'shipped', total: 60 },
          ],
        },
      },
    ],
  },
  'sum-up-text': {
    trials: [{ inputs: { text: 'Marmalade is made of oranges.' }, gives: { summary: has('armalade') } }],
  },
  'ask-when-open': {
    trials: [
      { inputs: { number: 'A1' }, asked: [{ words: ['Remind them?'], answer: 'Yes' }] },
      { inputs: { number: 'A2' } },
    ],
  },
  'poll-often': { trials: [{ inputs: { jobs: ['j7', 'j8'] }, gives: { job: 'j7', seen: 3 } }] },

  'every-morning': { declined: ['schedul', 'cron'] },
  'on-push': { declined: ['webhook', 'trigger'] },
  'each-of-each': { declined: ['nested', 'several steps'] },
  'tell-slack': { declined: ['slack', 'app'] },
  'count-runs': { declined: ['state', 'counter'] },
}
