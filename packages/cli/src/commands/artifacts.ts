import type { ArtifactSummary } from '@guildhall/sdk'
import type { Handler } from '../command.ts'
import { exit } from '../exit-codes.ts'
import type { Column } from '../output/columns.ts'
import { ago } from '../output/duration.ts'
import { bold, say } from '../output/safe-text.ts'
import { saveFile } from './files.ts'
import { pageOf } from './lists.ts'

const types = ['skill', 'workflow', 'file'] as const

const columns: readonly Column<ArtifactSummary>[] = [
  { head: 'ID', cell: ({ id }) => id },
  { head: 'TYPE', cell: ({ type }) => type },
  { head: 'SLUG', cell: ({ slug }) => slug },
  { head: 'NAME', cell: ({ name }) => name, wide: true },
  { head: 'FILES', cell: ({ filesCount }) => filesCount },
  { head: 'BYTES', cell: ({ sizeBytes }) => sizeBytes },
  { head: 'MADE', cell: ({ createdAt }, forPeople) => (forPeople ? ago(createdAt) : createdAt) },
]

export const list: Handler = async ({ input, out, client, signal }) => {
  const type = types.find((each) => each === input.text('type'))
  const pager = (await client()).artifacts.list({ ...(type && { type }) }, { signal })
  out.list(await pageOf(input, pager), columns, say`Nothing was uploaded. Next: guild skills upload ./FOLDER`)
  return exit.done
}

export const get: Handler = async ({ input, out, client, signal }) => {
  const artifact = await (await client()).artifacts.get(input.argument('ID'), { signal })
  out.document(artifact, () => [
    say`${bold(artifact.id)}  ${artifact.type}  ${artifact.slug}  ${artifact.name}`,
    say`${artifact.description}`,
    ...artifact.files.map(({ path, sizeBytes }) => say`  ${path}  ${sizeBytes} bytes`),
  ])
  return exit.done
}

/** One of its files, or all of them. */
export const download: Handler = async ({ input, out, client, signal }) => {
  const { artifacts } = await client()
  const id = input.argument('ID')
  const wanted = input.optional('PATH')
  const { files } = await artifacts.get(id, { signal })
  const names = wanted === undefined ? files.map(({ path }) => path) : [wanted]
  const items: { name: string; path: string }[] = []
  for (const name of names) {
    const path = await saveFile(input.text('output') ?? '.', {
      name,
      sizeBytes: files.find(({ path }) => path === name)?.sizeBytes,
      download: () => artifacts.content(id, { path: name }, { signal }),
    })
    items.push({ name, path })
  }
  out.list(
    { items },
    [
      { head: 'NAME', cell: ({ name }) => name },
      { head: 'WRITTEN TO', cell: ({ path }) => path, wide: true },
    ],
    say`It has no files.`,
  )
  return exit.done
}

export const remove: Handler = async ({ input, out, client, signal }) => {
  const id = input.argument('ID')
  await (await client()).artifacts.delete(id, { signal })
  out.document({ id, removed: true }, () => [])
  out.done(say`Removed ${id}.`)
  return exit.done
}
