/** What needs a file system: Node, Bun and Deno have one. */
export { attachFile, type BundledFile, bundleFolder } from './bundle-folder.ts'
export { saveFiles } from './save-files.ts'
