import { type CDPSession, chromium, type Page } from 'playwright-core'
import { isProof } from '../../support/sizes.ts'

const whole = '/usr/bin/chromium'
/** Chromium without its own windows and notices, which takes half of the time for the same pages. */
const pagesAlone = '/usr/bin/chromium-headless-shell'

export const chromiumOptions = {
  executablePath: isProof ? whole : pagesAlone,
  args: [
    '--headless',
    '--no-sandbox',
    '--disable-gpu',
    '--disable-quic',
    '--no-first-run',
    '--disable-background-networking',
    '--disable-component-update',
    '--disable-sync',
  ],
}

/** For files with a stack of their own; the others share one with the stack. */
export const launchBrowser = () => chromium.launch(chromiumOptions)

/** The browser that people have. */
export const launchWholeBrowser = () => chromium.launch({ ...chromiumOptions, executablePath: whole })

/** Gives a page an authenticator in software, which knows its owner. */
export async function addAuthenticator(page: Page): Promise<{ cdp: CDPSession; authenticatorId: string }> {
  const cdp = await page.context().newCDPSession(page)
  await cdp.send('WebAuthn.enable')
  const { authenticatorId } = await cdp.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  })
  return { cdp, authenticatorId }
}
