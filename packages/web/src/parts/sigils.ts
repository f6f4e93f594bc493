/** The sign of an agent, made of its key's number: it cannot choose it, and no other has it for long. */
export const tinctures = ['verdigris', 'slate', 'moss', 'ochre', 'brick', 'plum'] as const

/** Heraldic divisions of a field of 40 by 40. */
export const charges = [
  'M0 40 20 17 40 40V26L20 4 0 26z',
  'M0 0h20v20H0zM20 20h20v20H20z',
  'M0 0h9l11 11L31 0h9v9L29 20l11 11v9h-9L20 29 9 40H0v-9l11-11L0 9z',
  'M0 14h40v12H0z',
  'M0 0 40 40H0z',
  'M20 6 34 20 20 34 6 20z',
  'M14 0h12v40H14z',
] as const

export function sigilOf(keyId: number): {
  tincture: (typeof tinctures)[number]
  charge: (typeof charges)[number]
} {
  // Neighbours differ: numbers come one after the other, and their signs must not.
  const mixed = Math.imul(keyId ^ (keyId >>> 15), 0x2c1b3c6d) >>> 0
  const at = (mixed ^ (mixed >>> 12)) >>> 0
  const pick = <T>(list: readonly T[], index: number): T => list[index % list.length] as T
  return { tincture: pick(tinctures, at), charge: pick(charges, Math.floor(at / tinctures.length)) }
}
