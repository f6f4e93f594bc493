import { ChevronLeft } from 'lucide-react'
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { words } from '../words.ts'

interface TopProps {
  readonly title: string
  readonly wideTitle?: string
  readonly end?: ReactNode
  readonly back?: string
}

/** The bar above a page that was opened from a list. */
export function Top({ title, wideTitle = title, end, back = '/' }: TopProps) {
  return (
    <div className="top">
      <Link className="icon-button only-narrow" href={back} aria-label={words.back}>
        <ChevronLeft size={24} aria-hidden="true" />
      </Link>
      <span className="top-title only-narrow">{title}</span>
      <span className="top-title only-wide">{wideTitle}</span>
      <span className="only-narrow">{end}</span>
    </div>
  )
}
