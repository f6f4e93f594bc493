import type { RedisLink } from '#platform/redis.ts'
import { isNewsOfEvents, type Log } from '#streams/streams.ts'
import type { TurnSource } from './catalogue.ts'

type ReadLog = Pick<Log, 'listReachIn' | 'listEventsInRanges' | 'channel'>

/** How traces read a log of this kind; only whose events are still kept, and how one is erased, is its owner's matter. */
export function turnsOfLog(
  redis: RedisLink,
  { listReachIn, listEventsInRanges, channel }: ReadLog,
  { listKept, erase }: Pick<TurnSource, 'listKept' | 'erase'>,
): TurnSource {
  return {
    listReach: listReachIn,
    listEvents: listEventsInRanges,
    listKept,
    erase,
    // Single words of a reply come the same way and are no turns.
    listen: (rowId, heard) =>
      redis.subscribe(channel(rowId), (message) => {
        if (isNewsOfEvents(message)) heard()
      }),
  }
}
