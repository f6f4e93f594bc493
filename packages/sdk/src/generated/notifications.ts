// Printed from the contract by "npm run sdk". Do not edit.
import type { CallOptions } from '../client.ts'
import type { Operation } from '../operation.ts'
import { list, type Pager } from '../pager.ts'
import { Resource } from '../resource.ts'
import type { Notification, NotificationStatus, Success } from './records.ts'

/** What {@link listNotifications} can be asked for. */
export interface ListNotificationsQuery {
  status?: NotificationStatus | undefined
  /** 1 to 200; what lies outside is read as the nearest */
  limit?: number | undefined
  cursor?: string | undefined
}

/** What {@link listNotifications} answers. */
export interface ListNotificationsAnswer {
  items: Notification[]
  nextCursor: string | null
}

/**
 * What happened that concerns conversations of this workspace, newest first.
 *
 * What is pending becomes delivered by being read here. Go on with nextCursor until it is null.
 */
export const listNotifications: Operation<
  { query?: ListNotificationsQuery | undefined },
  ListNotificationsAnswer
> = { name: 'listNotifications', path: '/api/v1/notifications', page: 'cursor' }

/** What {@link listThreadNotifications} can be asked for. */
export interface ListThreadNotificationsQuery {
  status?: NotificationStatus | undefined
  /** 1 to 200; what lies outside is read as the nearest */
  limit?: number | undefined
  cursor?: string | undefined
}

/** What {@link listThreadNotifications} answers. */
export interface ListThreadNotificationsAnswer {
  items: Notification[]
  nextCursor: string | null
}

/**
 * What happened that concerns one conversation, newest first.
 *
 * As the list of the workspace. 404 also for a private thread of somebody else.
 */
export const listThreadNotifications: Operation<
  { params: { id: string }; query?: ListThreadNotificationsQuery | undefined },
  ListThreadNotificationsAnswer
> = { name: 'listThreadNotifications', path: '/api/v1/threads/:id/notifications', page: 'cursor' }

/** What is sent to {@link seeThreadNotifications}. */
export interface SeeThreadNotificationsBody {
  through?: number | undefined
}

/**
 * Say that all notifications of a thread were seen.
 *
 * With `through` those up to that sequence of its log; dismissed ones stay so.
 */
export const seeThreadNotifications: Operation<
  { params: { id: string }; body?: SeeThreadNotificationsBody | undefined },
  Success
> = { name: 'seeThreadNotifications', path: '/api/v1/threads/:id/notifications/seen', method: 'POST' }

/**
 * Say that a notification was seen.
 *
 * Again is as good as once. One that happens again is open again.
 */
export const seeNotification: Operation<{ params: { id: string } }, Success> = {
  name: 'seeNotification',
  path: '/api/v1/notifications/:id/seen',
  method: 'POST',
}

/**
 * Put a notification away.
 *
 * Again is as good as once. One that happens again is open again.
 */
export const dismissNotification: Operation<{ params: { id: string } }, Success> = {
  name: 'dismissNotification',
  path: '/api/v1/notifications/:id/dismiss',
  method: 'POST',
}

/** One method for each of these operations. */
export class Notifications extends Resource {
  /**
   * What happened that concerns conversations of this workspace, newest first.
   *
   * What is pending becomes delivered by being read here. Go on with nextCursor until it is null.
   */
  list(query?: ListNotificationsQuery, options?: CallOptions): Pager<Notification> {
    return list(
      this.client,
      { name: 'listNotifications', path: '/api/v1/notifications', page: 'cursor' },
      { query },
      options,
    )
  }
  /**
   * What happened that concerns one conversation, newest first.
   *
   * As the list of the workspace. 404 also for a private thread of somebody else.
   */
  listOfThread(id: string, query?: ListThreadNotificationsQuery, options?: CallOptions): Pager<Notification> {
    return list(
      this.client,
      { name: 'listThreadNotifications', path: '/api/v1/threads/:id/notifications', page: 'cursor' },
      { params: { id }, query },
      options,
    )
  }
  /**
   * Say that all notifications of a thread were seen.
   *
   * With `through` those up to that sequence of its log; dismissed ones stay so.
   */
  seeAll(id: string, body?: SeeThreadNotificationsBody, options?: CallOptions): Promise<Success> {
    return this.client.call(
      { name: 'seeThreadNotifications', path: '/api/v1/threads/:id/notifications/seen', method: 'POST' },
      { params: { id }, body },
      options,
    )
  }
  /**
   * Say that a notification was seen.
   *
   * Again is as good as once. One that happens again is open again.
   */
  see(id: string, options?: CallOptions): Promise<Success> {
    return this.client.call(
      { name: 'seeNotification', path: '/api/v1/notifications/:id/seen', method: 'POST' },
      { params: { id } },
      options,
    )
  }
  /**
   * Put a notification away.
   *
   * Again is as good as once. One that happens again is open again.
   */
  dismiss(id: string, options?: CallOptions): Promise<Success> {
    return this.client.call(
      { name: 'dismissNotification', path: '/api/v1/notifications/:id/dismiss', method: 'POST' },
      { params: { id } },
      options,
    )
  }
}
