import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'

/** What an operator watches. One registry per process. */
export function createMetrics() {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  const registers = [registry]
  const requestSeconds = new Histogram({
    name: 'guildhall_request_duration_seconds',
    help: 'Time to answer, by route and status',
    labelNames: ['route', 'status'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5],
    registers,
  })
  return {
    registry,
    observeRequest: (route: string, status: number, seconds: number) =>
      requestSeconds.observe({ route, status }, seconds),
    partUp: new Gauge({
      name: 'guildhall_part_up',
      help: '1 while a part answers, 0 while it is away, as of the last readiness check',
      labelNames: ['part'],
      registers,
    }),
    localLimiter: new Counter({
      name: 'guildhall_rate_limit_local_total',
      help: 'Requests counted by the per-process limiter because Redis was away',
      registers,
    }),
    rateLimited: new Counter({
      name: 'guildhall_rate_limited_total',
      help: 'Requests refused with 429, by limit',
      labelNames: ['limit'],
      registers,
    }),
    refusedCredentials: new Counter({
      name: 'guildhall_refused_credentials_total',
      help: 'Requests refused with 401, by kind of credential',
      labelNames: ['kind'],
      registers,
    }),
    policyReports: new Counter({
      name: 'guildhall_policy_reports_total',
      help: 'Reports of browsers that the policy of the app kept something from a page',
      registers,
    }),
    codeMisses: new Counter({
      name: 'guildhall_code_misses_total',
      help: 'Unknown pairing codes that people typed; a steep rise is somebody guessing',
      registers,
    }),
    executionsEnded: new Counter({
      name: 'guildhall_executions_ended_total',
      help: 'Executions that ended, by stop reason',
      labelNames: ['reason'],
      registers,
    }),
    openSockets: new Gauge({
      name: 'guildhall_open_sockets',
      help: 'Event sockets open at this moment',
      registers,
    }),
    eventsDelivered: new Counter({
      name: 'guildhall_events_delivered_total',
      help: 'Events handed to a socket, counted once for each socket',
      registers,
    }),
    droppedSockets: new Counter({
      name: 'guildhall_dropped_sockets_total',
      help: 'Sockets that the service ended, by reason',
      labelNames: ['reason'],
      registers,
    }),
    waitingRequests: new Gauge({
      name: 'guildhall_waiting_requests',
      help: 'Requests that wait at this moment for others of the same caller',
      registers,
    }),
    openStreams: new Gauge({
      name: 'guildhall_open_streams',
      help: 'Event streams open at this moment',
      registers,
    }),
    droppedStreams: new Counter({
      name: 'guildhall_dropped_streams_total',
      help: 'Event streams that the service cut off, by reason',
      labelNames: ['reason'],
      registers,
    }),
    mcpRequests: new Counter({
      name: 'guildhall_mcp_requests_total',
      help: 'Requests of the Model Context Protocol, by method, era of the client and outcome',
      labelNames: ['method', 'era', 'outcome'],
      registers,
    }),
    mcpToolCalls: new Counter({
      name: 'guildhall_mcp_tool_calls_total',
      help: 'Calls of tools over MCP, by tool and outcome',
      labelNames: ['tool', 'outcome'],
      registers,
    }),
    mcpDecisions: new Counter({
      name: 'guildhall_mcp_decisions_total',
      help: 'What came of asking a person for a scope that a tool call lacked',
      labelNames: ['outcome'],
      registers,
    }),
    pushes: new Counter({
      name: 'guildhall_pushes_total',
      help: 'Messages to browsers that were handed to a push service, by outcome',
      labelNames: ['outcome'],
      registers,
    }),
    leftSandboxes: new Gauge({
      name: 'guildhall_left_sandboxes',
      help: 'Sandboxes of killed workers that could not be cleared away, as of the last sweep',
      registers,
    }),
    swept: new Counter({
      name: 'guildhall_swept_rows_total',
      help: 'Rows removed because their time was over, by table',
      labelNames: ['table'],
      registers,
    }),
  }
}

export type Metrics = ReturnType<typeof createMetrics>
