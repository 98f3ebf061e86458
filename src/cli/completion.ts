/** @file What a shell offers behind `tc-lint`: scripts that ask tc-lint itself, which asks yargs. */

import type { Argv } from "yargs";

export const shells = ["bash", "zsh", "fish"] as const;
export type Shell = (typeof shells)[number];

/** The flag that yargs answers with completions; everything behind it is the command line so far. */
const key = "--get-yargs-completions";

/** Names and descriptions are parted by a colon where the shell is zsh, by yargs' account of it. */
const scripts: Readonly<Record<Shell, string>> = {
  bash: `# tc-lint completion bash >> ~/.bashrc
_tc_lint_completions() {
  local current="\${COMP_WORDS[COMP_CWORD]}" words
  words="$(SHELL=bash ZSH_NAME= tc-lint ${key} "\${COMP_WORDS[@]:0:COMP_CWORD+1}" 2>/dev/null)"
  # Behind --gpu= bash takes the = for the word.
  [[ "$current" == "=" ]] && current=
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
# Where none of the words fits, files do.
complete -o bashdefault -o default -F _tc_lint_completions tc-lint
`,
  zsh: `#compdef tc-lint
# tc-lint completion zsh > a file named _tc-lint in a folder of $fpath; or: source <(tc-lint completion zsh)
_tc_lint_completions() {
  local -a found
  found=(\${(f)"$(SHELL=zsh tc-lint ${key} "\${(@)words[1,CURRENT]}" 2>/dev/null)"})
  (( $#found )) && _describe 'tc-lint' found
  [[ "\${words[CURRENT]}" == -* ]] || _files
}
if [ "\${funcstack[1]}" = "_tc-lint" ]; then
  _tc_lint_completions "$@"
else
  compdef _tc_lint_completions tc-lint
fi
`,
  fish: `# tc-lint completion fish > ~/.config/fish/completions/tc-lint.fish
function __tc_lint_completions
    set -l words (commandline -opc) (commandline -ct)
    SHELL=zsh tc-lint ${key} $words 2>/dev/null | string replace -r '(?<!\\\\\\\\):' '\\t'
end
complete -c tc-lint -a '(__tc_lint_completions)'
`,
};

export function completionScript(shell: Shell): string {
  return scripts[shell];
}

export function isCompletionRequest([flag]: readonly string[]): boolean {
  return flag === key;
}

/** The command that a request is about, and its words; "lint" where there is none. */
function wordsOf(words: readonly string[], commands: readonly (string | undefined)[]) {
  const [first = ""] = words;
  return commands.includes(first)
    ? { command: first, words }
    : { command: "lint", words: ["lint", ...words] };
}

/** A request as yargs needs it, or what is offered. Without a command the default one is meant, whose flags yargs would not offer. */
export async function completionArguments(
  [, program = "tc-lint", ...words]: readonly string[],
  parser: Pick<Argv, "getCompletion">,
): Promise<{ readonly asked: string[] } | { readonly offered: readonly string[] }> {
  const [first = ""] = words;
  const isFirst = words.length === 1 && !first.startsWith("-");
  const commands = await commandsOf(parser);
  const whole = wordsOf(words, commands);
  const { offeredValues } = await import("./completion-values.ts");
  const offered = isFirst ? undefined : await offeredValues(whole.command, whole.words);
  return offered === undefined ? { asked: [key, program, ...(isFirst ? words : whole.words)] } : { offered };
}

/** The command that a command line names; undefined where it is the default one, or what it names is no command. */
export async function commandIn(
  args: readonly string[],
  parser: Pick<Argv, "getCompletion">,
): Promise<string | undefined> {
  const first = args.find((arg) => !arg.startsWith("-"));
  return first !== undefined && (await commandsOf(parser)).includes(first) ? first : undefined;
}

/** Of the whole command line, by name. */
export async function commandsOf(parser: Pick<Argv, "getCompletion">): Promise<readonly string[]> {
  // With descriptions behind colons where the shell is zsh.
  return (await parser.getCompletion([""])).flatMap((line) => line.split(":")[0] ?? []);
}
