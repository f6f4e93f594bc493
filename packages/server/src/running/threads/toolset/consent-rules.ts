import type { Principal } from '#operations/principal.ts'
import type { ToolClass } from './tool.ts'

/**
 * Who must say yes to a use of a tool:
 *
 *   sender    look, make, spend    outside           outside, and the run has read from outside
 *   key       by its scopes        by its scopes     asks although the scope is held
 *   session   yes                  asks              asks, with a passkey if the person has one
 *   OAuth     by its token         by its token      no
 *
 * `by scopes`: what is missing is asked for by a key, and refused to an app, which has nobody to ask.
 */
export function leaveFor(
  sender: Principal['kind'],
  does: ToolClass,
  tainted: boolean,
): 'by scopes' | 'ask' | 'never' {
  if (does !== 'outside') return 'by scopes'
  if (sender === 'session') return 'ask'
  if (!tainted) return 'by scopes'
  return sender === 'key' ? 'ask' : 'never'
}
