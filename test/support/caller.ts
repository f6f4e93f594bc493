export interface Answer {
  status: number
  headers: Headers
  text: string
  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies whose shape they assert
  body: any
}

interface CallOptions {
  body?: unknown
  headers?: Record<string, string>
  /** Shorthands for the credential headers. */
  key?: string
  token?: string
  /** Gives up waiting for the answer. */
  signal?: AbortSignal
}

export interface Person {
  token: string
  userId: string
  workspaceId: string
  email: string
}

export interface Caller {
  call(method: string, path: string, options?: CallOptions): Promise<Answer>
  /** A new account, signed in. */
  newPerson(options?: { mode?: string; email?: string }): Promise<Person>
  newKey(person: Person, body?: Record<string, unknown>): Promise<{ id: number; secret: string }>
  newTeam(person: Person, name?: string): Promise<string>
  /** Invites somebody into a team, who accepts. */
  addMember(owner: Person, workspaceId: string, member: Person): Promise<void>
  /** A pairing code that waits for a decision. */
  newCode(): Promise<{ deviceCode: string; userCode: string }>
}

let people = 0

export function createCaller(baseUrl: string): Caller {
  const call: Caller['call'] = async (method, path, { body, headers = {}, key, token, signal } = {}) => {
    const response = await fetch(baseUrl + path, {
      method,
      redirect: 'manual',
      signal: signal ?? null,
      headers: {
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...(key === undefined ? {} : { 'x-api-key': key }),
        ...(token === undefined ? {} : { 'x-auth-token': token }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    })
    const text = await response.text()
    const json = /^application\/(\S+\+)?json\b/.test(response.headers.get('content-type') ?? '')
    return {
      status: response.status,
      headers: response.headers,
      text,
      body: json ? JSON.parse(text) : undefined,
    }
  }
  const expectStatus = (answer: Answer, status: number) => {
    if (answer.status !== status) throw new Error(`expected ${status}, got ${answer.status}: ${answer.text}`)
    return answer.body
  }
  return {
    call,
    newPerson: async ({
      mode = 'basedmode',
      email = `person-${process.pid}-${++people}@example.test`,
    } = {}) => {
      const answer = await call('POST', '/api/v1/auth/dev', { body: { email, mode } })
      const { auth_token, user, current_workspace_id } = expectStatus(answer, 200)
      return { token: auth_token, userId: user.id, workspaceId: current_workspace_id, email }
    },
    newKey: async (person, body = {}) => {
      const answer = await call('POST', '/api/v1/keys', {
        token: person.token,
        body: { label: 'test', ...body },
      })
      const { id, api_key } = expectStatus(answer, 201)
      return { id, secret: api_key }
    },
    newTeam: async (person, name = 'Team') => {
      const answer = await call('POST', '/api/v1/workspaces', { token: person.token, body: { name } })
      return expectStatus(answer, 201).id
    },
    addMember: async (owner, workspaceId, member) => {
      const invited = await call('POST', '/api/v1/workspaces/current/members', {
        token: owner.token,
        headers: { 'x-workspace-id': workspaceId },
        body: { email: member.email },
      })
      const { id } = expectStatus(invited, 202)
      expectStatus(await call('POST', `/api/v1/invitations/${id}/accept`, { token: member.token }), 200)
    },
    newCode: async () => {
      const { device_code, user_code } = expectStatus(await call('POST', '/api/v1/activate'), 200)
      return { deviceCode: device_code, userCode: user_code }
    },
  }
}
