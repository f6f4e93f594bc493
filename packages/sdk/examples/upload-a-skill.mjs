/** A folder becomes a skill, the skill runs, and the files it made are saved. */
import { fileURLToPath } from 'node:url'
import { Guildhall } from '@guildhall/sdk'
import { bundleFolder, saveFiles } from '@guildhall/sdk/node'

const [input = 'Say hello'] = process.argv.slice(2)
const guild = new Guildhall()

const files = await bundleFolder(fileURLToPath(new URL('skill/', import.meta.url)))
const { id } = await guild.artifacts.create({ type: 'skill', files })
const { slug, versionNumber } = await guild.skills.install('greeter', { artifactId: id })
console.log(`Installed ${slug}, version ${versionNumber}`)

const run = await guild.skills.run('greeter', { input })
const result = await run.result({ orThrow: true })
for (const path of await saveFiles(result.files, 'saved')) console.log(`Saved ${path}`)
