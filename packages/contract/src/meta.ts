import { Type } from 'typebox'
import { defineRoutes } from './route.ts'

/** The revision of the workflow definition format this contract speaks. */
export const workflowFormat = 'guildhall-workflow-v1'

const DownList = Type.Array(Type.String({ description: 'A part that is away' }))

export const metaRoutes = defineRoutes({
  getMeta: {
    method: 'GET',
    path: '/api/v1/meta',
    summary: 'Version, features and deprecations of this deployment',
    tag: 'meta',
    audience: 'public',
    limits: ['rest'],
    responses: {
      200: Type.Object({
        name: Type.String(),
        version: Type.String(),
        apiVersion: Type.String(),
        format: Type.String(),
        features: Type.Array(Type.String()),
        deprecations: Type.Array(
          Type.Object({ route: Type.String(), deprecation: Type.String(), sunset: Type.String() }),
        ),
      }),
    },
    errors: [],
  },
  getHealth: {
    method: 'GET',
    path: '/healthz',
    summary: 'The process is alive',
    tag: 'operations',
    audience: 'public',
    limits: [],
    responses: { 200: Type.Object({ status: Type.Literal('ok') }) },
    errors: [],
  },
  getReadiness: {
    method: 'GET',
    path: '/readyz',
    summary: 'Whether to send requests here, and which parts are away',
    tag: 'operations',
    audience: 'public',
    limits: [],
    responses: {
      200: Type.Object({ status: Type.Enum(['ok', 'degraded']), down: DownList }),
      503: Type.Object({ status: Type.Enum(['unavailable', 'stopping']), down: DownList }),
    },
    errors: [],
  },
  getMetrics: {
    method: 'GET',
    path: '/metrics',
    summary: 'Prometheus metrics of this process',
    tag: 'operations',
    audience: 'public',
    limits: [],
    answers: 'text',
    responses: { 200: Type.String() },
    errors: ['UNAUTHORIZED'],
  },
  getOpenApi: {
    method: 'GET',
    path: '/openapi.json',
    summary: 'This document',
    tag: 'meta',
    audience: 'public',
    limits: [],
    responses: { 200: Type.Any() },
    errors: [],
  },
})
