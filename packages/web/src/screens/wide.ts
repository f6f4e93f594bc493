const wide = matchMedia('(min-width: 960px)')

/** Whether list and card stand side by side. */
export const isWide = () => wide.matches
