// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the language's own markers
import { agent, type Draft, draft, from, input, is, mapping, template, tool, value } from './draft.ts'
import type { RequestName } from './requests.ts'

const mailTo = (to: string, subject: string) => ({
  number: input('number'),
  to: value(to),
  subject: value(subject),
  text: template('Order ${initData.number}'),
})
const lookUp = [mapping('which', { number: input('number') }), tool('order', 'look-up-order')]

/** Written as other languages of workflows are, or in haste. Nothing here says what is right instead. */
export const wrongDrafts = {
  // Arguments at the tool, and a tool by another name.
  'mail-clerk': draft(
    'mail-clerk',
    tool('send', 'send-email', {
      args: { to: 'clerk@example.test', subject: 'Message', text: '${initData.text}' },
    }),
    mapping('out', { sent: from('send', 'sent') }),
  ),
  // A record where a text must be, and markers as other templates have them.
  welcome: draft('welcome', {
    type: 'mapping',
    id: 'out',
    mapConfig: { text: template('Welcome, ${ initData.person.names[0] }!') },
  }),
  // A mapping beside the steps that need it.
  'check-and-tell': draft(
    'check-and-tell',
    {
      type: 'parallel',
      steps: [
        mapping('both', mailTo('clerk@example.test', 'Check')),
        tool('order', 'look-up-order'),
        tool('send', 'send-mail'),
      ],
    },
    mapping('out', { status: from('order', 'status') }),
  ),
  // A branch for "otherwise" without a condition, and a marker in a condition.
  'order-size': draft(
    'order-size',
    ...lookUp,
    mapping('either', { ...mailTo('boss@example.test', 'Large'), question: value('Anything else?') }),
    {
      type: 'conditional',
      steps: [tool('send', 'send-mail'), tool('ask', 'ask-human')],
      predicates: [is('gt', '${stepResults.order.total}', 50)],
    },
  ),
  // Names with blanks, and a container that is spoken of by a name of its own.
  'late-order': draft(
    'Late Order',
    mapping('which one', { number: input('number') }),
    { type: 'parallel', id: 'lookups', steps: [tool('order', 'look-up-order')] },
    mapping('the line', {
      line: template('${stepResults.lookups.order.number} is ${stepResults.lookups.order.status}'),
    }),
  ),
  // Times in words.
  'short-nap': draft(
    'short-nap',
    { type: 'sleep', id: 'nap', duration: '500ms' },
    { type: 'sleepUntil', id: 'later', date: '1 January 2020' },
    mapping('out', { done: value(true) }),
  ),
  // A record where a list must be.
  'each-order': draft(
    'each-order',
    mapping('list', { numbers: input('numbers') }),
    { type: 'foreach', step: tool('order', 'look-up-order') },
    mapping('out', { orders: from('order', '.') }),
  ),
  // An agent that is not there, without a prompt; a schema is missing.
  'sum-up-text': {
    definition: {
      id: 'sum-up-text',
      description: 'Sum up this text',
      inputSchema: {},
      graph: [
        mapping('what', { text: input('text') }),
        agent('write', { agentId: 'writer' }),
        mapping('out', { summary: from('write', 'text') }),
      ],
    },
  },
  // Types by other names, and one name twice.
  'ask-when-open': draft(
    'ask-when-open',
    { ...mapping('order', { number: input('number') }), type: 'map' },
    tool('order', 'look-up-order'),
    mapping('question', { question: value('Remind them?') }),
    {
      type: 'if',
      steps: [tool('ask', 'ask-human')],
      predicates: [is('eq', 'stepResults.order.status', 'open')],
    },
  ),
  // Paths with brackets, two sources at once, a loop of another language, far too many retries.
  'poll-often': draft(
    'poll-often',
    mapping('which', { job: input('$.jobs[0]') }),
    {
      type: 'loop',
      loopType: 'until',
      step: tool('ask', 'job-status', { options: { retries: 99 } }),
      predicate: { op: 'truthy', value: { path: 'inputData.done' } },
    },
    mapping('out', { job: { ...from('ask', 'job'), initData: true }, seen: from('ask', 'seen') }),
  ),
} satisfies Partial<Record<RequestName, Draft>>

const somehow = (id: string, unless: string): Draft => ({
  ...draft(id, mapping('out', { done: value(true) })),
  unless,
})

/** Cannot be done here. Whoever is not told so makes something that only looks like it. */
export const impossibleDrafts = {
  'every-morning': somehow('every-morning', 'Schedules (cron)'),
  'on-push': somehow('on-push', 'webhooks'),
  'each-of-each': somehow('each-of-each', 'nested'),
  'tell-slack': somehow('tell-slack', 'apps that no tool here reaches'),
  'count-runs': somehow('count-runs', 'state and counters'),
} satisfies Partial<Record<RequestName, Draft>>
