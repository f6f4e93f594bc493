// Printed from the contract by "npm run sdk". Do not edit.
import type { CallOptions } from '../client.ts'
import type { Operation } from '../operation.ts'
import { list, type Pager } from '../pager.ts'
import { Resource } from '../resource.ts'
import type { NotificationSettings, Profile } from './records.ts'

/**
 * What the person lets agents know.
 *
 * Facts have names; agents read what the person wrote there.
 */
export const getProfile: Operation<object, Profile> = { name: 'getProfile', path: '/api/v1/profile' }

/** What is sent to {@link updateProfile}. */
export interface UpdateProfileBody {
  name?: string | null | undefined
  bio?: string | null | undefined
  timezone?: string | null | undefined
  facts?: Record<string, string | null> | undefined
}

/**
 * Change the profile; a fact set to null is removed.
 *
 * What is left out stays. 400 with details.limit beyond 200 facts.
 */
export const updateProfile: Operation<{ body: UpdateProfileBody }, Profile> = {
  name: 'updateProfile',
  path: '/api/v1/profile',
  method: 'PATCH',
}

/** What {@link searchProfile} can be asked for. */
export interface SearchProfileQuery {
  q: string
}

/** What {@link searchProfile} answers. */
export interface SearchProfileAnswer {
  items: {
    name: string
    text: string
  }[]
  nextCursor: string | null
}

/**
 * Find facts of the profile by a word in their name or text.
 *
 * Answers the names and texts of the facts that fit.
 */
export const searchProfile: Operation<{ query: SearchProfileQuery }, SearchProfileAnswer> = {
  name: 'searchProfile',
  path: '/api/v1/profile/search',
  page: 'cursor',
}

/**
 * What the person wants to be told of, and when not.
 *
 * Whoever has changed nothing is told of everything at any hour.
 */
export const getNotificationSettings: Operation<object, NotificationSettings> = {
  name: 'getNotificationSettings',
  path: '/api/v1/profile/notifications',
}

/** What is sent to {@link updateNotificationSettings}. */
export interface UpdateNotificationSettingsBody {
  /** sensitive: only what a passkey must confirm */
  approvals?: 'all' | 'sensitive' | 'none' | undefined
  /** What runs of workflows ask */
  questions?: boolean | undefined
  /** A key has reached its limit */
  budget?: boolean | undefined
  /** What comes in these hours is told in one message when they end */
  quiet?:
    | {
        /** HH:MM */
        from: string
        /** HH:MM */
        to: string
        /** As in Europe/London */
        timezone: string
        /** Kinds that are told all the same */
        except: ('consent' | 'permission' | 'workflow' | 'budget' | 'tool' | 'ask')[]
      }
    | null
    | undefined
  /** That message comes at this time, and not when the quiet hours end */
  digest?:
    | {
        /** HH:MM */
        at: string
        /** As in Europe/London */
        timezone: string
      }
    | null
    | undefined
  /** Agents that are not told of until then */
  muted?:
    | {
        apiKeyId: number
        until: string
      }[]
    | undefined
}

/**
 * Change what the person is told of.
 *
 * What is left out stays. 400 for a time zone that does not exist, and for quiet hours that begin when they end.
 */
export const updateNotificationSettings: Operation<
  { body: UpdateNotificationSettingsBody },
  NotificationSettings
> = { name: 'updateNotificationSettings', path: '/api/v1/profile/notifications', method: 'PATCH' }

/** One method for each of these operations. */
export class ProfileResource extends Resource {
  /**
   * What the person lets agents know.
   *
   * Facts have names; agents read what the person wrote there.
   */
  get(options?: CallOptions): Promise<Profile> {
    return this.client.call({ name: 'getProfile', path: '/api/v1/profile' }, {}, options)
  }
  /**
   * Change the profile; a fact set to null is removed.
   *
   * What is left out stays. 400 with details.limit beyond 200 facts.
   */
  update(body: UpdateProfileBody, options?: CallOptions): Promise<Profile> {
    return this.client.call(
      { name: 'updateProfile', path: '/api/v1/profile', method: 'PATCH' },
      { body },
      options,
    )
  }
  /**
   * Find facts of the profile by a word in their name or text.
   *
   * Answers the names and texts of the facts that fit.
   */
  search(
    query: SearchProfileQuery,
    options?: CallOptions,
  ): Pager<{
    name: string
    text: string
  }> {
    return list(
      this.client,
      { name: 'searchProfile', path: '/api/v1/profile/search', page: 'cursor' },
      { query },
      options,
    )
  }
  /**
   * What the person wants to be told of, and when not.
   *
   * Whoever has changed nothing is told of everything at any hour.
   */
  notifications(options?: CallOptions): Promise<NotificationSettings> {
    return this.client.call(
      { name: 'getNotificationSettings', path: '/api/v1/profile/notifications' },
      {},
      options,
    )
  }
  /**
   * Change what the person is told of.
   *
   * What is left out stays. 400 for a time zone that does not exist, and for quiet hours that begin when they end.
   */
  updateNotifications(
    body: UpdateNotificationSettingsBody,
    options?: CallOptions,
  ): Promise<NotificationSettings> {
    return this.client.call(
      { name: 'updateNotificationSettings', path: '/api/v1/profile/notifications', method: 'PATCH' },
      { body },
      options,
    )
  }
}
