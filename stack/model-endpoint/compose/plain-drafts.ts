// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the language's own markers
import { agent, type Draft, draft, from, input, is, mapping, template, tool, value } from './draft.ts'
import type { RequestName } from './requests.ts'

const compute = (expression: string, data: object) => [
  mapping('wanted', { expression: value(expression), data }),
  tool('computed', 'transform-json'),
]

/** Sound as they are. Together they have every type of entry, every kind of source and every tool. */
export const plainDrafts = {
  greet: draft('greet', mapping('out', { greeting: template('Hello, ${initData.name}!') })),
  'contact-card': draft(
    'contact-card',
    mapping('out', { name: input('customer.name'), city: input('customer.address.city') }),
  ),
  'stamp-order': draft(
    'stamp-order',
    mapping('out', { order: input('order'), source: value('shop'), runId: { requestContextPath: 'runId' } }),
  ),
  'add-up': draft('add-up', ...compute('{"total": $sum(items.(price * quantity))}', input('.'))),
  'open-orders': draft(
    'open-orders',
    ...compute('{"numbers": [orders[status = "open"].number]}', input('.')),
  ),
  'sort-names': draft('sort-names', ...compute('{"names": [$sort(names)]}', input('.'))),
  'ask-name': draft(
    'ask-name',
    mapping('question', { question: value('What is the name of the project?') }),
    tool('ask', 'ask-human'),
    mapping('out', { name: from('ask', 'answer') }),
  ),
  'pick-size': draft(
    'pick-size',
    mapping('question', { question: value('Which size should it be?'), choices: value(['S', 'M', 'L']) }),
    tool('ask', 'ask-human'),
    mapping('out', { size: from('ask', 'answer') }),
  ),
  'approve-payment': {
    ...draft(
      'approve-payment',
      mapping('plan', { action: template('Pay ${initData.amount} to ${initData.payee}') }),
      tool('gate', 'request-approval'),
      mapping('out', { approved: from('gate', 'approved'), note: from('gate', 'note') }),
    ),
    launchWith: { amount: 42, payee: 'Ada' },
  },
  'mail-after-yes': draft(
    'mail-after-yes',
    mapping('plan', { action: template('Send to ${initData.to}: ${initData.text}') }),
    tool('gate', 'request-approval'),
    mapping('mail', { to: input('to'), subject: value('Note'), text: input('text') }),
    {
      type: 'conditional',
      steps: [tool('send', 'send-mail')],
      predicates: [is('eq', 'stepResults.gate.approved', true)],
    },
    mapping('out', { approved: from('gate', 'approved') }),
  ),
  'order-and-mail': draft(
    'order-and-mail',
    mapping('both', {
      number: input('number'),
      to: value('clerk@example.test'),
      subject: value('Order'),
      text: template('Order ${initData.number}'),
    }),
    { type: 'parallel', steps: [tool('order', 'look-up-order'), tool('send', 'send-mail')] },
    mapping('out', { status: from('order', 'status'), sent: from('send', 'sent') }),
  ),
  'large-payments': draft(
    'large-payments',
    mapping('plan', {
      action: template('Pay ${initData.amount}'),
      expression: value('{"approved": true}'),
    }),
    {
      type: 'conditional',
      steps: [tool('gate', 'request-approval'), tool('small', 'transform-json')],
      predicates: [is('gte', 'initData.amount', 100), is('lt', 'initData.amount', 100)],
    },
    mapping('out', { approved: from(['gate', 'small'], 'approved') }),
  ),
  'mail-if-open': draft(
    'mail-if-open',
    mapping('which', { number: input('number') }),
    tool('order', 'look-up-order'),
    mapping('mail', {
      to: value('clerk@example.test'),
      subject: value('Open'),
      text: template('${stepResults.order.number} is open'),
    }),
    {
      type: 'conditional',
      steps: [tool('send', 'send-mail')],
      predicates: [is('eq', 'stepResults.order.status', 'open')],
    },
  ),
  'until-done': draft(
    'until-done',
    mapping('which', { job: input('job') }),
    {
      type: 'loop',
      loopType: 'dountil',
      step: tool('ask', 'job-status'),
      predicate: { op: 'truthy', value: { path: 'inputData.done' } },
    },
    mapping('out', { job: from('ask', 'job'), seen: from('ask', 'seen') }),
  ),
  'five-times': draft(
    'five-times',
    mapping('which', { job: input('job') }),
    {
      type: 'loop',
      loopType: 'dowhile',
      step: tool('ask', 'job-status'),
      predicate: is('lt', 'inputData.seen', 5),
    },
    mapping('out', { seen: from('ask', 'seen') }),
  ),
  'all-statuses': draft(
    'all-statuses',
    ...compute('[numbers.{"number": $}]', input('.')),
    { type: 'foreach', step: tool('order', 'look-up-order') },
    mapping('rows', { expression: value('{"statuses": [$.status]}'), data: from('order', '.') }),
    tool('statuses', 'transform-json'),
  ),
  'mail-everybody': draft(
    'mail-everybody',
    ...compute('[addresses.{"to": $, "subject": "News", "text": "We have moved."}]', input('.')),
    { type: 'foreach', step: tool('send', 'send-mail'), opts: { concurrency: 3 } },
    mapping('out', { count: from('send', 'length') }),
  ),
  'wait-a-second': draft(
    'wait-a-second',
    { type: 'sleep', id: 'wait', duration: 1000 },
    mapping('out', { text: input('text') }),
  ),
  'not-before': draft(
    'not-before',
    { type: 'sleepUntil', id: 'wait', date: '2020-01-01T08:00:00Z' },
    mapping('out', { text: input('text') }),
  ),
  'repeat-word': draft(
    'repeat-word',
    mapping('ask', { prompt: template('Say this word and nothing else: ${initData.word}') }),
    agent('say'),
    mapping('out', { said: from('say', 'text') }),
  ),
  'judge-text': draft(
    'judge-text',
    mapping('ask', { prompt: template('Is this text good or bad? ${initData.text}') }),
    agent('judge', {
      outputSchema: {
        type: 'object',
        properties: { verdict: { enum: ['good', 'bad'] } },
        required: ['verdict'],
      },
    }),
    mapping('out', { verdict: from('judge', 'verdict') }),
  ),
  'say-each': draft(
    'say-each',
    ...compute('[words.{"prompt": "Say this word and nothing else: " & $}]', input('.')),
    { type: 'foreach', step: agent('say') },
    mapping('answers', { expression: value('{"said": [$.text]}'), data: from('say', '.') }),
    tool('texts', 'transform-json'),
  ),
  'make-report': draft(
    'make-report',
    mapping('wish', { slug: value('csv-report'), input: input('text') }),
    tool('run', 'execute-skill'),
    mapping('out', { status: from('run', 'status') }),
  ),
  'fetch-page': draft(
    'fetch-page',
    mapping('page', { url: template('https://pages.example.test/${initData.path}') }),
    tool('get', 'http-request'),
    mapping('out', { status: from('get', 'status') }),
  ),
  'charge-card': draft(
    'charge-card',
    mapping('what', { amount: input('amount') }),
    tool('charge', 'charge', { options: { retries: 3 } }),
    mapping('out', { charged: from('charge', 'charged') }),
  ),
} satisfies Partial<Record<RequestName, Draft>>
