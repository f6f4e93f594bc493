import type { GrantMode, RequestedScope } from '@guildhall/sdk'
import { ChoiceBar, Sensitive } from '../parts/controls.tsx'
import { scopeWords } from '../scope-words.ts'
import { words } from '../words.ts'

/** Which of the scopes that were asked for, and for how long each. */
export type Chosen = Readonly<Record<string, GrantMode>>

export const modes = (['one_time', 'session', 'persistent'] as const).map((value) => ({
  value,
  title: words.lasting[value],
  means: words.modeMeans[value],
}))

/** Everything is ticked at first that the agent asked for and does not have. */
export function chosenAtFirst(scopes: readonly RequestedScope[]): Chosen {
  return Object.fromEntries(
    scopes.filter(({ held }) => !held).map(({ scope, default_mode }) => [scope, default_mode as GrantMode]),
  )
}

export const sensitiveIn = (scopes: readonly RequestedScope[], chosen: Chosen) =>
  scopes.filter(({ scope, sensitive }) => sensitive && scope in chosen).length

interface Props {
  readonly scopes: readonly RequestedScope[]
  readonly chosen: Chosen
  readonly onChange: (chosen: Chosen) => void
}

export function ScopeChooser({ scopes, chosen, onChange }: Props) {
  const groups = [...new Set(scopes.map(({ group }) => group))]
  return groups.map((group) => (
    <section className="section" key={group}>
      <div className="section-title">
        <h2>{words.groups[group] ?? words.otherGroup}</h2>
      </div>
      <ul className="surface rows">
        {scopes
          .filter((one) => one.group === group)
          .map((one) => (
            <ScopeRow key={one.scope} asked={one} chosen={chosen} onChange={onChange} />
          ))}
      </ul>
    </section>
  ))
}

function ScopeRow({ asked, chosen, onChange }: Omit<Props, 'scopes'> & { asked: RequestedScope }) {
  const { scope, sensitive, held, default_mode } = asked
  const { title, means } = scopeWords(scope)
  const mode = chosen[scope]
  const set = (value: GrantMode | undefined) => {
    const { [scope]: _before, ...others } = chosen
    onChange(value ? { ...others, [scope]: value } : others)
  }
  const id = `scope-${scope}`
  return (
    <li className="scope" data-testid="scope-row" data-scope={scope} data-state={mode || held ? 'on' : 'off'}>
      <input
        id={id}
        type="checkbox"
        className="tick"
        checked={held || mode !== undefined}
        disabled={held}
        onChange={(event) => set(event.target.checked ? (default_mode as GrantMode) : undefined)}
        data-testid="scope-check"
      />
      <label className="grow" htmlFor={id}>
        <span className="scope-title">
          {title}
          {sensitive && <Sensitive />}
        </span>
        <span className="row-note">{held ? `${means} (${words.held})` : means}</span>
      </label>
      {mode && sensitive && (
        <ChoiceBar name={id} label={words.howLong} options={modes} value={mode} onChange={set} />
      )}
      {mode && !sensitive && (
        <select
          className="scope-mode"
          aria-label={words.howLong}
          value={mode}
          onChange={(event) => set(event.target.value as GrantMode)}
          data-testid="scope-mode"
        >
          {modes.map((option) => (
            <option key={option.value} value={option.value}>
              {option.title}
            </option>
          ))}
        </select>
      )}
    </li>
  )
}
