/**
 * What people ask for, in their words. A request names the workflow, what goes in and what comes out, so that what was
 * made of it can be tried; how it is made is left to whoever is asked.
 */
export const requests = {
  greet:
    'Make a workflow called greet. It takes a name and gives back a greeting, such as { "greeting": "Hello, Ada!" }.',
  'contact-card':
    'Make a workflow called contact-card. It takes a customer like { "customer": { "name": "Ada", "address": { "city": "London" } } } and gives { "name", "city" }.',
  'stamp-order':
    'Make a workflow called stamp-order. It takes an order number as order and gives { "order", "source", "runId" }: the number, always the word shop, and the id of the run.',
  'add-up':
    'Make a workflow called add-up. It takes items, each with a price and a quantity, and gives { "total" }.',
  'open-orders':
    'Make a workflow called open-orders. It takes orders, each with a number and a status, and gives { "numbers" }: a list of the numbers of those that are open.',
  'sort-names':
    'Make a workflow called sort-names. It takes names and gives { "names" } in order of the alphabet.',
  'ask-name':
    'Make a workflow called ask-name. It asks a person "What is the name of the project?" and gives { "name" }.',
  'pick-size':
    'Make a workflow called pick-size. It asks a person which size it should be, S, M or L and nothing else, and gives { "size" }.',
  'approve-payment':
    'Make a workflow called approve-payment and launch it to pay 42 to Ada. It takes an amount and a payee, has a person approve the payment, and gives { "approved", "note" }.',
  'mail-after-yes':
    'Make a workflow called mail-after-yes. It takes to and text, asks a person whether the mail may go out, and sends it by mail with the subject "Note" only after a yes. It gives { "approved" }.',
  'order-and-mail':
    'Make a workflow called order-and-mail. It takes an order number as number. At the same time it looks the order up and sends a mail to clerk@example.test with the subject "Order". It gives { "status", "sent" }.',
  'large-payments':
    'Make a workflow called large-payments. It takes an amount. From 100 on a person has to approve it; anything less is approved without a question. It gives { "approved" }.',
  'mail-if-open':
    'Make a workflow called mail-if-open. It takes an order number as number, looks the order up, and mails clerk@example.test with the subject "Open" when its status is open. Otherwise it does nothing.',
  'until-done':
    'Make a workflow called until-done. It takes a job and asks for how it stands, again and again, until it is done. It gives { "job", "seen" }: how often it asked.',
  'five-times':
    'Make a workflow called five-times. It takes a job and goes on asking for how it stands as long as it has asked fewer than five times. It gives { "seen" }.',
  'all-statuses':
    'Make a workflow called all-statuses. It takes numbers of orders, looks each of them up, and gives { "statuses" } in the same order.',
  'mail-everybody':
    'Make a workflow called mail-everybody. It takes addresses, sends each of them a mail with the subject "News" and the text "We have moved.", three at a time, and gives { "count" }.',
  'wait-a-second':
    'Make a workflow called wait-a-second. It takes a text, waits for one second, and gives { "text" } unchanged.',
  'not-before':
    'Make a workflow called not-before. It takes a text and gives { "text" } unchanged, but not before 1 January 2020, 08:00 UTC.',
  'repeat-word':
    'Make a workflow called repeat-word. It takes a word, asks the agent assistant to say that word and nothing else, and gives { "said" }.',
  'judge-text':
    'Make a workflow called judge-text. It takes a text and has the agent assistant judge it. It gives { "verdict" }, which is either "good" or "bad".',
  'say-each':
    'Make a workflow called say-each. It takes words, asks the agent assistant for each of them to say it, and gives { "said" }, a list of the answers in the same order.',
  'make-report':
    'Make a workflow called make-report. It takes a wish as text, runs the skill csv-report with it, and gives { "status" } of that.',
  'fetch-page':
    'Make a workflow called fetch-page. It takes a path, gets https://pages.example.test/ followed by that path, and gives { "status" }.',
  'charge-card':
    'Make a workflow called charge-card. It takes an amount and charges it. The bank fails now and then, so it tries again up to three times. It gives { "charged" }.',

  'mail-clerk':
    'Make a workflow called mail-clerk. It takes a text and sends it by mail to clerk@example.test with the subject "Message". It gives { "sent" }.',
  welcome:
    'Make a workflow called welcome. It takes a person like { "person": { "names": ["Ada", "Lovelace"] } } and gives { "text": "Welcome, Ada!" } with the first of the names.',
  'check-and-tell':
    'Make a workflow called check-and-tell. It takes an order number as number, then looks it up and mails clerk@example.test with the subject "Check" at the same time. It gives { "status" }.',
  'order-size':
    'Make a workflow called order-size. It takes an order number as number, looks it up, and mails boss@example.test with the subject "Large" when its total is over 50. Otherwise it asks a person "Anything else?".',
  'late-order':
    'Make a workflow called late-order. It takes an order number as number, looks it up, and gives { "line" }, such as "A1 is open".',
  'short-nap':
    'Make a workflow called short-nap. It waits for half a second, goes on after 1 January 2020, and gives { "done": true }.',
  'each-order':
    'Make a workflow called each-order. It takes numbers of orders, looks up each of them, and gives { "orders" }, a list of what was found.',
  'sum-up-text':
    'Make a workflow called sum-up-text. It takes a text and has it summed up by the agent assistant. It gives { "summary" }.',
  'ask-when-open':
    'Make a workflow called ask-when-open. It takes an order number as number, looks it up, and asks a person "Remind them?" when it is open. Otherwise nobody is asked.',
  'poll-often':
    'Make a workflow called poll-often. It takes a list of jobs, asks for how the first of them stands until it is done, and gives { "job", "seen" }.',

  'every-morning':
    'Make a workflow called every-morning that runs by itself every morning at eight and mails me the open orders.',
  'on-push': 'Make a workflow called on-push that starts whenever somebody pushes to our repository.',
  'each-of-each':
    'Make a workflow called each-of-each that goes through all customers, and for each of them through all their orders, and looks up every order.',
  'tell-slack': 'Make a workflow called tell-slack that posts a message to our channel in Slack.',
  'count-runs':
    'Make a workflow called count-runs that counts up by one with every run and says how often it has run so far.',
} as const

export type RequestName = keyof typeof requests

/** Which of them a text makes. */
export function requestIn(text: string): RequestName | undefined {
  return (Object.keys(requests) as RequestName[]).find((name) => text.includes(requests[name]))
}
