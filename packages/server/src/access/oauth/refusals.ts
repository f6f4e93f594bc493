import type Provider from 'oidc-provider'
import type { errors } from 'oidc-provider'
import { errorPage } from './pages.ts'

/**
 * Who chose the address is whoever registered the app, which may be anybody, and nobody was asked yet: a refusal that
 * sent the browser there at once would make our name lead anywhere. So the person is shown where the way back leads, and
 * the app is told when they go it. (RFC 6749 has the browser sent on; RFC 9700, 4.11.2, only to who is trusted.)
 */
export function showRefusals(provider: Provider, pages: string): void {
  const refusals = new WeakMap<object, errors.OIDCProviderError>()
  provider.on('authorization.error', (ctx, refusal) => refusals.set(ctx, refusal))
  provider.use(async (ctx, next) => {
    await next()
    const location = ctx.response.get('location')
    if (ctx.oidc?.route !== 'authorization' || !location) return
    if (location.startsWith(pages)) return
    const { error, error_description } = refusals.get(ctx) ?? { error: 'Something went wrong here.' }
    const { type, body, headers } = errorPage(error_description ?? error, location)
    ctx.remove('location')
    ctx.status = 400
    ctx.set(headers)
    ctx.type = type
    ctx.body = body
  })
}
