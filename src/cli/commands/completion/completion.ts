import { Argument, type Command } from "commander";
import type { Cli } from "../../cli.ts";

/*
 * Each script passes the words up to the cursor to `punctual __complete`, and reads one line for each completion of the
 * last word: the completion, a tab and its description.
 */

const bash = `# bash completion of punctual. For now: source <(punctual completion bash)
# For good: punctual completion bash > ~/.local/share/bash-completion/completions/punctual
_punctual() {
  local line="\${COMP_LINE:0:COMP_POINT}" words reply prefix=
  read -ra words <<< "$line"
  [[ $line == *[[:space:]] ]] && words+=("")
  local current="\${words[\${#words[@]}-1]}"
  # Bash splits words at colons and completes only the text after the last one.
  [[ $current == *:* && $COMP_WORDBREAKS == *:* ]] && prefix="\${current%"\${current##*:}"}"
  COMPREPLY=()
  while IFS= read -r reply; do
    reply="\${reply%%$'\\t'*}"
    COMPREPLY+=("$(printf %q "\${reply#"$prefix"}")")
  done < <("\${words[0]}" __complete "\${words[@]:1}" 2>/dev/null)
}
complete -o default -o nosort -F _punctual punctual 2>/dev/null || complete -o default -F _punctual punctual
`;

const zsh = `#compdef punctual
# zsh completion of punctual. For now: source <(punctual completion zsh)
# For good: punctual completion zsh > "\${fpath[1]}/_punctual"
_punctual() {
  local line
  local -a values descriptions
  for line in "\${(@f)$("\${words[1]}" __complete "\${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
    [[ -z $line ]] && continue
    values+=("\${line%%$'\\t'*}")
    descriptions+=("\${line//$'\\t'/  }")
  done
  if (( \${#values} )); then
    compadd -l -d descriptions -a values
  else
    _files
  fi
}
if [[ \${funcstack[1]} == _punctual ]]; then
  _punctual "$@"
else
  compdef _punctual punctual
fi
`;

const fish = `# fish completion of punctual. For now: punctual completion fish | source
# For good: punctual completion fish > ~/.config/fish/completions/punctual.fish
function __punctual_complete
    set -l words (commandline --tokenize --cut-at-cursor --current-process)
    set -l current (commandline --current-token --cut-at-cursor)
    $words[1] __complete $words[2..-1] "$current" 2>/dev/null
end
complete --command punctual --no-files --arguments '(__punctual_complete)'
for option in config env-file cwd jobs
    complete --command punctual --long-option $option --require-parameter --force-files
end
`;

const powershell = `# PowerShell completion of punctual. For now: punctual completion powershell | Out-String | Invoke-Expression
# For good: punctual completion powershell >> $PROFILE
Register-ArgumentCompleter -Native -CommandName punctual -ScriptBlock {
  param($wordToComplete, $commandAst, $cursorPosition)
  $words = @($commandAst.CommandElements | Select-Object -Skip 1 | ForEach-Object { "$_" })
  # PowerShell does not pass an empty argument.
  $next = if ($wordToComplete -eq '') { @('--next') } else { @() }
  & punctual __complete @next @words 2>$null | ForEach-Object {
    $value, $text = $_ -split "\`t", 2
    if (-not $text) { $text = $value }
    [System.Management.Automation.CompletionResult]::new($value, $value, 'ParameterValue', $text)
  }
}
`;

export const scripts: Record<string, string> = { bash, zsh, fish, powershell };

export default function completion(command: Command, { output }: Cli): void {
  command
    .description("Print a script that completes commands, options, jobs and queues in your shell.")
    .addArgument(new Argument("<shell>", "the shell").choices(Object.keys(scripts)))
    .addHelpText(
      "after",
      "\nTo try it in bash: source <(punctual completion bash)\nIts first lines say how to install it.",
    )
    .action((shell: string) => {
      output.stdout.write(scripts[shell]!);
    });
}
