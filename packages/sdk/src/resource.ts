import type { Client } from './client.ts'

/** A part of the API that is reached through a client. */
export class Resource {
  /** Sends what the methods are asked to. */
  protected readonly client: Client

  constructor(client: Client) {
    this.client = client
  }
}
