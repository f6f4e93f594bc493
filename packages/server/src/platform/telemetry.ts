import type { IncomingHttpHeaders } from 'node:http'
import type { Config } from './config.ts'

/** One request in a trace. */
export interface RequestSpan {
  end(outcome: { status: number; attributes: Readonly<Record<string, string>> }): void
}

export interface Telemetry {
  /** Joined to the caller's trace where it names one; undefined while tracing is off. */
  startRequest: ((name: string, headers: IncomingHttpHeaders) => RequestSpan) | undefined
  close(): Promise<void>
}

/**
 * OpenTelemetry traces, sent to `OTEL_EXPORTER_OTLP_ENDPOINT` when that is set. Its code is not even loaded
 * otherwise.
 */
export async function startTelemetry(config: Pick<Config, 'tracesUrl'>, role: string): Promise<Telemetry> {
  if (config.tracesUrl === undefined) return { startRequest: undefined, close: async () => {} }
  const [{ ROOT_CONTEXT, SpanKind, SpanStatusCode, defaultTextMapGetter }, core, resources, sdk, otlp] =
    await Promise.all([
      import('@opentelemetry/api'),
      import('@opentelemetry/core'),
      import('@opentelemetry/resources'),
      import('@opentelemetry/sdk-trace'),
      import('@opentelemetry/exporter-trace-otlp-http'),
    ])
  const exporter = new otlp.OTLPTraceExporter({
    url: `${config.tracesUrl.replace(/(?<!\/)\/+$/, '')}/v1/traces`,
  })
  const provider = new sdk.TracerProvider({
    resource: resources.resourceFromAttributes({ 'service.name': `guildhall-${role}` }),
    spanProcessors: [new sdk.BatchSpanProcessor({ exporter, scheduledDelayMillis: 1000 })],
  })
  const tracer = provider.getTracer('guildhall')
  const propagator = new core.W3CTraceContextPropagator()
  return {
    startRequest: (name, headers) => {
      const parent = propagator.extract(ROOT_CONTEXT, headers, defaultTextMapGetter)
      const span = tracer.startSpan(name, { kind: SpanKind.SERVER }, parent)
      return {
        end: ({ status, attributes }) => {
          span.setAttributes({ ...attributes, 'http.response.status_code': status })
          if (status >= 500) span.setStatus({ code: SpanStatusCode.ERROR })
          span.end()
        },
      }
    },
    close: () => provider.shutdown(),
  }
}
