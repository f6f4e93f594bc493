import type { Attack } from './attack.ts'

/** The worst inputs of the patterns by which secrets of others are found in text. */
export const secretInputs: readonly (readonly [pattern: RegExp, ...attacks: Attack[]])[] = [
  // Secrets of others, in runs of text that somebody appended to a trace.
  [
    /guild_|sk-|[sr]k_|gh[opsru]_|github_pat_|gl(?:pat|sa)[-_]|xox|xapp-|\/services\/T|whsec_|npm_|pypi-|hf_|gsk_|xai-|r8_|pplx-|lin_api_|ntn_|hvs\.|dop_v1_|dapi|shp|figd_|PMAK-|SG\.|AGE-SEC|:AA|A[KS]IA|AIza|ya29\.|GOCSPX-|8Q~|ccountKey=|sig=|eyJ|:\/\//,
    ['', 'github_pa', ''],
    ['', '/services/', ''],
  ],
  [/sk-[\w-]{20,}/g, ['', 'sk-', ''], ['', 'sk-aaaaaaaaaaaaaaaaaaa!', '']],
  [
    /(?:gh[opsru]_|npm_|[rs]k_(?:live|test)_|whsec_|hf_|gsk_|r8_|ntn_|lin_api_)[A-Za-z0-9]{16,}/g,
    ['', 'ghp_', ''],
    ['', 'sk_live_aaaaaaaaaaaaaaa_', ''],
  ],
  [
    /(?:github_pat_|glpat-|glsa_|xox[a-z]-|xapp-|xai-|pplx-|hvs\.|pypi-|figd_|PMAK-)[\w-]{16,}/g,
    ['', 'glpat-', ''],
    ['', 'github_pat_aaaaaaaaaaaa!', ''],
  ],
  [
    /(?:dop_v1_|dapi|shp(?:at|ca|pa|ss)_)[0-9a-f]{32,}/g,
    ['', 'dapi', ''],
    ['', 'dapiaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaag', ''],
  ],
  [
    /SG\.[\w-]{16,}\.[\w-]{16,}/g,
    ['SG.', 'a', ''],
    ['', 'SG.aaaaaaaaaaaaaaaa', ''],
    ['SG.', 'aaaaaaaaaaaaaaaaSG.', ''],
  ],
  [/AGE-SECRET-KEY-1[0-9A-Z]{20,}/g, ['', 'AGE-SECRET-KEY-1', '']],
  [/(?<!\d)\d{8,10}:AA[\w-]{30,}/g, ['', '1', ':AA'], ['', '123456789:AA', '']],
  [
    /\/services\/(?<secret>T[0-9A-Z]{6,}\/B[0-9A-Z]{6,}\/[0-9A-Za-z]{16,})/g,
    ['/services/', 'T', ''],
    ['', '/services/TAAAAAA/BAAAAAA/aaaa', ''],
  ],
  [/(?<![A-Z0-9])A[KS]IA[A-Z0-9]{16}(?![A-Z0-9])/g, ['', 'AKIA', ''], ['', '-AKIAAAAAAAAAAAAAAAA', '']],
  [/AIza[\w-]{35}/g, ['', 'AIza', '!'], ['', 'AIza!', '']],
  [/(?:ya29\.|GOCSPX-)[\w-]{20,}/g, ['', 'ya29.', ''], ['', 'GOCSPX-', '']],
  [/[\w~.-]{3}8Q~[\w~.-]{31,34}/g, ['', '8Q~', '!'], ['', 'a', '']],
  [/AccountKey=(?<secret>[A-Za-z0-9+/]{40,}={0,2})/g, ['', 'AccountKey=', ''], ['AccountKey=', '/', '!']],
  [/[?&]sig=(?<secret>[A-Za-z0-9%+/]{40,}={0,2})/g, ['', '&sig=', ''], ['&sig=', '%', '!']],
  [
    /(?:^[nrt]?|[^\w-])(?<secret>eyJ[\w-]{8,}(?:\.[\w-]*){2,4})/g,
    ['', 'eyJ', ''],
    ['', '.eyJaaaaaaaa', ''],
    ['eyJaaaaaaaa', '.', ''],
  ],
  [/:\/\/[^\s:/@]{1,64}:(?<secret>[^\s/@]{1,128})@/g, ['', '://', ''], ['://', 'a:', ''], ['', '://a:a', '']],
  [/^[A-Za-z0-9+/_=-]+$/, ['', 'a', '!']],
  [/^[0-9a-f-]+$/, ['', 'a', '!']],
  [/^[1-9]\d{0,14}$/, ['', '1', '!']],
  [
    /(?:authorization|cookie|passw(?:or)?d|pwd|passphrase|secret|token|(?:api|access|secret|private|auth|account)[-_]?key|credentials?)$/i,
    ['', 'token', '!'],
    ['', 'api_key', '!'],
  ],
  [/(?:authorization|cookie)$/i, ['', 'cookie', '!']],
  [/^[A-Z0-9_]+$/, ['', 'A', '!']],
  [
    /[ \t]{0,4}\\{0,7}["']?(?:(?:basic|bearer|digest|token|apikey)[ \t]+)?([^\s"'\\<>{}$,;]{6,256})/iy,
    ['', '\t', ''],
    ['basic', ' ', '"'],
    ['', 'token ', ''],
  ],
  [/[\s"'\\,;]/, ['', 'a', '']],
  [/^[A-Za-z_][\w]{0,40}[([]/, ['', 'a', '']],
  [/^[A-Za-z_]{1,40}\.[A-Za-z_]/, ['', 'a', ''], ['', 'a.', '']],
  [/[a-z][A-Z].*[a-z][A-Z]/, ['', 'a', ''], ['aA', 'a', ''], ['', 'A', '']],
  [
    /-----(BEGIN|END) [A-Z0-9 ]{1,48}-----/g,
    ['', '-', ''],
    ['', '-----BEGIN A', ''],
    ['-----BEGIN ', 'A', ''],
  ],
  [/^[A-Za-z0-9+/=\s]*/, ['', 'a', '-']],
  [
    /^(?:(?:proxy-?)?authorization|(?:set-?)?cookie|x-(?:api-key|auth-token)|(?:client|aws)?[-_]?(?:secret|password|passwd|passphrase|private[-_]?key|secret[-_]?access[-_]?key|secret[-_]?key))$/i,
    ['', 'secret', ''],
  ],
  [/authorization|cookie|^x-/i, ['', 'cooki', ''], ['', 'x-', '']],
  [/\d/, ['', 'a', '']],
  [/[A-Za-z]/, ['', '1', '']],
]
