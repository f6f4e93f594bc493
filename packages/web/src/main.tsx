import { QueryClientProvider } from '@tanstack/react-query'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import './styles/tokens.css'
import './styles/base.css'
import './styles/parts.css'
import './styles/choices.css'
import './styles/voices.css'
import './styles/shell.css'
import './styles/screens.css'
import './styles/agents.css'
import './styles/people.css'
import { queries } from './api/queries.ts'
import { App } from './routes.tsx'
import { applyTheme, themeNow } from './theme.ts'

applyTheme(themeNow())
const place = document.getElementById('app')
if (!place) throw new Error('The page has no place for the app')
createRoot(place).render(
  <StrictMode>
    <QueryClientProvider client={queries}>
      <App />
    </QueryClientProvider>
  </StrictMode>,
)
