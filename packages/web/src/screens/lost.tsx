import type { CurrentSession } from '@guildhall/sdk'
import { useState } from 'react'
import { Button, Note } from '../parts/controls.tsx'
import { plainLine } from '../parts/text.ts'
import { words } from '../words.ts'

type Workspaces = CurrentSession['workspaces']

/** Says that the person is out of a workspace they were in when this page began, until they have read it. */
export function Lost({ workspaces }: { workspaces: Workspaces }) {
  const [known, setKnown] = useState(workspaces)
  const [lost, setLost] = useState<Workspaces>([])
  const isHere = (id: string) => workspaces.some((workspace) => workspace.id === id)
  if (known !== workspaces) {
    setKnown(workspaces)
    setLost([...lost, ...known].filter(({ id }) => !isHere(id)))
  }
  if (lost.length === 0) return null
  return (
    <div className="banner" data-testid="workspace-lost">
      <Note look="warn">
        {lost.map(({ id, name }) => (
          <p key={id}>{words.people.members.lost(plainLine(name ?? words.personal))}</p>
        ))}
        <Button size="small" onClick={() => setLost([])}>
          {words.people.members.lostNow}
        </Button>
      </Note>
    </div>
  )
}
