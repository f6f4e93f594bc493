import { Events as Printed } from '../generated/events.ts'
import type { LiveEvent } from '../generated/records.ts'
import { type Connected, liveEvents, type SubscribeOptions } from '../live-events.ts'

/** What happens in the workspace. */
export class Events extends Printed {
  /** Everything, as it happens. After each `connected` read again what you show: nothing is repeated. */
  subscribe(options?: SubscribeOptions): AsyncGenerator<LiveEvent | Connected, void, undefined> {
    return liveEvents(this.client, { WebSocket: this.client.WebSocket, ...options })
  }
}
