import { type ReactNode, useEffect, useRef } from 'react'
import { words } from '../words.ts'

interface HeadingProps {
  readonly children: ReactNode
  /** For the window; what an agent wrote is never in it. */
  readonly title: string
  readonly className?: string
  readonly testId?: string
}

/** The title of a page: of its window too, and where a screen reader goes on when the page has changed. */
export function Heading({ children, title, className, testId }: HeadingProps) {
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => {
    document.title = `${title} · ${words.name}`
    heading.current?.focus({ preventScroll: true })
  }, [title])
  return (
    <h1 ref={heading} tabIndex={-1} className={className} data-testid={testId}>
      {children}
    </h1>
  )
}
