/** What a model is told of a person's decision. The person's own words are quoted, and nobody else's. */
export const decisionWords = {
  waiting: (summary: string, url: string) => `Waiting for you in Guildhall: ${summary} (${url})`,
  stillWaiting: (url: string) => `Still waiting for you in Guildhall (${url})`,
  denied: (scope: string, reason: string | null | undefined) =>
    `The person denied ${scope}${quoted(reason)}. Do not ask again; go on without it or end.`,
  deniedBefore: (scope: string, reason: string | null) =>
    `The person denied ${scope} a few minutes ago${quoted(reason)}, and was not asked again. Go on without it.`,
  expired: (scope: string) =>
    `Nobody answered the request for ${scope} in time. Tell the person, and call the tool again when they are there.`,
  declined: (url: string) =>
    `The request was put off in the client. It stays open at ${url}; call the tool again when the person has agreed.`,
  pending: (scope: string, requestId: string, url: string) =>
    `The person has not decided about ${scope} yet. They can at ${url}. Call request_permission with request_id "${requestId}" to wait on, then call this tool again.`,
}

function quoted(reason: string | null | undefined): string {
  return reason ? `: ${JSON.stringify(reason)}` : ''
}
