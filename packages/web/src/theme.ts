export type Theme = 'system' | 'light' | 'dark'

const name = 'theme'

/** Storage may be refused, as in a private window: then the system decides. */
export function themeNow(): Theme {
  try {
    const kept = localStorage.getItem(name)
    return kept === 'light' || kept === 'dark' ? kept : 'system'
  } catch {
    return 'system'
  }
}

export function setTheme(theme: Theme): void {
  try {
    localStorage.setItem(name, theme)
  } catch {
    // It holds for this page then.
  }
  applyTheme(theme)
}

export function applyTheme(theme: Theme): void {
  if (theme === 'system') delete document.documentElement.dataset['theme']
  else document.documentElement.dataset['theme'] = theme
}
