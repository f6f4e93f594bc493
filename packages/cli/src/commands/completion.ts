import type { Handler } from '../command.ts'
import { exit } from '../exit-codes.ts'
import { usage } from '../failure.ts'

/** Each asks guild itself, so that a new command needs no new script. */
const scripts: Readonly<Record<string, string>> = {
  bash: `_guild() {
  local IFS=$'\\n'
  COMPREPLY=($(guild __complete "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null | cut -f1))
  [ \${#COMPREPLY[@]} -eq 0 ] && compopt -o default
}
complete -F _guild guild`,
  zsh: `#compdef guild
_guild() {
  local -a found
  local line
  for line in "\${(@f)$(guild __complete "\${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
    [[ -n "$line" ]] && found+=("\${\${line%%$'\\t'*}//:/\\\\:}:\${line#*$'\\t'}")
  done
  if (( \${#found} )); then _describe guild found; else _files; fi
}
# Loaded from fpath this is the body of _guild itself, at the first TAB; sourced it is not.
if [[ "$funcstack[1]" == _guild ]]; then _guild "$@"; elif (( $+functions[compdef] )); then compdef _guild guild; fi`,
  fish: `function __guild_complete
  set -l words (commandline -opc) (commandline -ct)
  set -l found (guild __complete $words[2..-1] 2>/dev/null)
  if set -q found[1]
    printf '%s\\n' $found
  else
    __fish_complete_path (commandline -ct)
  end
end
complete -c guild -f -a '(__guild_complete)'`,
}

export const completion: Handler = async ({ input, out }) => {
  const shell = input.argument('SHELL')
  const script = Object.hasOwn(scripts, shell) ? scripts[shell] : undefined
  if (!script) throw usage(`There is no completion for "${shell}".`, 'guild completion bash')
  out.document({ shell, script }, script)
  return exit.done
}
