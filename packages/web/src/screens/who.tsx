import type { Approval } from '@guildhall/sdk'
import { Sign } from '../parts/marks.tsx'
import { dateOf } from '../parts/time.ts'
import { Timer } from '../parts/timer.tsx'
import { words } from '../words.ts'
import { fromOf } from './describe.ts'

/** Who asks: facts alone. */
export function Who({ request, note }: { request: Approval; note?: string | undefined }) {
  const { key, workspace } = request
  const where = workspace?.name ?? words.personal
  const since = note ?? (key ? words.pairedOn(dateOf(key.created_at)) : undefined)
  return (
    <div className="who">
      <Sign keyId={key?.id} size={44} />
      <span className="grow">
        <span className="who-name">{fromOf(request)}</span>
        <span className="row-note">{since ? `${where} · ${since}` : where}</span>
      </span>
      <span className="only-wide">
        <Timer createdAt={request.created_at} expiresAt={request.expires_at} isLong />
      </span>
    </div>
  )
}
