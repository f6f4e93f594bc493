import { Link } from 'wouter'
import { words } from '../words.ts'
import { Heading } from './heading.tsx'
import { Top } from './top.tsx'

export function NotFound() {
  return (
    <>
      <Top title={words.notFound.title} />
      <div className="done" data-testid="not-found">
        <Heading className="ask" title={words.notFound.title}>
          {words.notFound.title}
        </Heading>
        <p className="quiet">{words.notFound.text}</p>
        <Link className="button" href="/">
          {words.toInbox}
        </Link>
      </div>
    </>
  )
}
