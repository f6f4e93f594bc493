import react from '@vitejs/plugin-react'
import { defineConfig, type Plugin } from 'vite'

/** The first words of a page are set in it, so the browser fetches it beside the styles that name it. */
const preloadedFont: Plugin = {
  name: 'preloaded-font',
  transformIndexHtml: {
    order: 'post',
    handler: (_html, { bundle = {} }) => {
      const font = Object.keys(bundle).find((name) => name.includes('instrument-sans'))
      if (font === undefined) return []
      const attrs = { rel: 'preload', as: 'font', type: 'font/woff2', href: `/${font}`, crossorigin: '' }
      return [{ tag: 'link', attrs, injectTo: 'head' as const }]
    },
  },
}

export default defineConfig({
  plugins: [react(), preloadedFont],
  // Tests take the guards out to see that they are what stops an early yes.
  define: { GUARDED: JSON.stringify(process.env['APP_GUARDS'] !== 'out') },
  build: {
    target: 'es2023',
    // The policy of the page allows no data: fonts and no code but that of /assets/.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
})
