/** The client without any resource: for bundles that use few of them. */
import { Client, type ClientOptions } from './client.ts'

export * from './errors.ts'
export type { ErrorCode, Open } from './generated/records.ts'
export type { AnyCall, Operation } from './operation.ts'
export type * from './options.ts'
export type { Page, Pager } from './pager.ts'
export { Resource } from './resource.ts'
export { Client }

/** A client that sends operations; give it to the resources that are needed. */
export function createClient(options?: ClientOptions): Client {
  return new Client(options)
}
