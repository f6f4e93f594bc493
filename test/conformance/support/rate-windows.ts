import { Redis } from 'ioredis'
import { inject } from 'vitest'
import { pause } from './client.ts'

/** Every counted request becomes that much older, and is forgotten that much sooner. */
const agingScript = `
local by = tonumber(ARGV[1])
for _, key in ipairs(redis.call('KEYS', 'rate:*')) do
  local times, left = redis.call('LRANGE', key, 0, -1), redis.call('PTTL', key) - by
  redis.call('DEL', key)
  if left > 0 then
    for _, time in ipairs(times) do redis.call('RPUSH', key, string.format('%.0f', time - by)) end
    redis.call('PEXPIRE', key, left)
  end
end`

/**
 * Lets time pass for all rate windows, as `withClock` does for what the database decides: their times are moved, nobody
 * waits. A deployment that is given by its address is really waited for.
 */
export async function letWindowsPass(milliseconds: number): Promise<void> {
  // A slow machine may have taken longer than there was to wait.
  if (milliseconds <= 0) return
  const given = inject('stack')
  if (given === null) return pause(milliseconds)
  const redis = new Redis(given.redisUrl)
  try {
    await redis.eval(agingScript, 0, Math.ceil(milliseconds))
  } finally {
    redis.disconnect()
  }
}
