import type { DeviceAuth } from '@guildhall/sdk'
import {
  browserSupportsWebAuthn,
  type PublicKeyCredentialCreationOptionsJSON,
  type PublicKeyCredentialRequestOptionsJSON,
  startAuthentication,
  startRegistration,
} from '@simplewebauthn/browser'
import { PasskeyError } from './passkey-error.ts'

/** The options are what the server answered; the browser refuses what is none. */
export async function assertPasskey(options: unknown): Promise<DeviceAuth> {
  return perform(() => startAuthentication({ optionsJSON: options as PublicKeyCredentialRequestOptionsJSON }))
}

export async function makePasskey(options: unknown): Promise<DeviceAuth> {
  return perform(() => startRegistration({ optionsJSON: options as PublicKeyCredentialCreationOptionsJSON }))
}

async function perform(ceremony: () => Promise<{ id: string }>): Promise<DeviceAuth> {
  if (!browserSupportsWebAuthn()) throw new PasskeyError('unsupported')
  try {
    return { ...(await ceremony()) }
  } catch (error) {
    throw new PasskeyError((error as Error).name === 'InvalidStateError' ? 'exists' : 'canceled', error)
  }
}
