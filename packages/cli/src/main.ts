#!/usr/bin/env node
/** Put in by the build, which writes the pages of help beside this file: what anybody types first is there at once. */
declare const BUILT_VERSION: string | undefined

const args = process.argv.slice(2)
if (typeof BUILT_VERSION === 'string') {
  const text = args.join(' ') === '--version' ? `guild ${BUILT_VERSION}\n` : builtHelp(args)
  if (text !== undefined) {
    // Asked for like this, a part of Node is not made into a module first.
    process.getBuiltinModule('node:fs').writeSync(1, text)
    process.exit(0)
  }
}

// Before anything else is loaded, so that all of it is kept compiled. CI has nowhere to keep it.
if (!process.env['CI']) process.getBuiltinModule('node:module').enableCompileCache?.()

const { runProgram } = await import('./program.ts')
// At once: a keyring that hangs must not keep us.
process.exit(await runProgram(args, process.env))

/** The page for `help WORDS` and `WORDS --help`; undefined where the program has to look closer. */
function builtHelp(typed: readonly string[]): string | undefined {
  const words =
    typed[0] === 'help' ? typed.slice(1) : typed.at(-1) === '--help' ? typed.slice(0, -1) : undefined
  if (!words?.every((word) => /^[a-z][a-z-]{0,30}$/.test(word))) return undefined
  try {
    const path = `${import.meta.dirname}/help/${words.join('_') || 'index'}.txt`
    return process.getBuiltinModule('node:fs').readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}
