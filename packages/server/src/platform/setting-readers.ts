import { fromDs } from '@guildhall/contract'

export function readDs(value: string): number {
  if (!/^\d+(\.\d{1,3})?$/.test(value)) throw new Error('must be an amount of Ds with at most three decimals')
  return fromDs(Number(value))
}

export function readUrl(value: string): string {
  new URL(value)
  return value.replace(/(?<!\/)\/+$/, '')
}

export function readCount(value: string): number {
  if (!/^\d+$/.test(value)) throw new Error('must be a whole number')
  return Number(value)
}

export function readList(value: string): string[] {
  return value.split(',').flatMap((part) => part.trim() || [])
}

/** As URLs write them, so that comparing is enough. */
export function readHosts(value: string): string[] {
  return readList(value).map((host) => {
    const name = URL.canParse(`https://${host}`) ? new URL(`https://${host}`).hostname : ''
    if (name !== host.toLowerCase() || name.includes('*')) throw new Error(`"${host}" is not a host name`)
    return name.replace(/^\[|\]$/g, '')
  })
}

/** Of two addresses, if they have one. */
export function sharedOrigin(publicUrl: string | undefined, appUrl: string | undefined): string | undefined {
  // Either is missing where the configuration is refused for it.
  if (publicUrl === undefined || appUrl === undefined) return undefined
  const { origin } = new URL(appUrl)
  return origin === new URL(publicUrl).origin ? origin : undefined
}
