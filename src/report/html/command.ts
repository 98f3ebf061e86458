/** @file The command that mends a model, as a shell takes it. */
import { isHalf, shellWord } from "../../ir/fix-command.ts";
import type { FindingGroup, ModelReport } from "../../lint/result.ts";

/** For the target and sizes that it was priced at: another target is mended otherwise. Undefined where no command is sure to gain. */
export function commandLine(
  model: ModelReport,
  { fixCommand }: Pick<FindingGroup, "fixCommand">,
): string | undefined {
  if (fixCommand === null) return undefined;
  const { path, target, symbols, assumed } = model;
  const { gpu, stack, precision } = target;
  const has = new Set(fixCommand.split(" "));
  const left = new Set(assumed);
  const sizes = Object.entries(symbols).filter(([name]) => !left.has(name));
  // A scenario of the configuration has a target and sizes; of a combination of flags some are in the command.
  const said = has.has("--scenario")
    ? []
    : [
        ...(has.has("--gpu") ? [] : ["--gpu", gpu]),
        ...(has.has("--stack") ? [] : ["--stack", stack]),
        // A half that the command does not name is the default's or a configuration's: to ask for it is to have it stored.
        ...(has.has("--precision") || isHalf(precision) ? [] : ["--precision", precision]),
        ...sizes
          .map(([name, size]) => `${name}=${size}`)
          .flatMap((size) => (fixCommand.includes(`--dim ${shellWord(size)}`) ? [] : ["--dim", size])),
      ];
  // A path that looks like an option is none behind these.
  const words = [...said, ...(path.startsWith("-") ? ["--"] : []), path];
  return ["tc-lint", fixCommand, ...words.map(shellWord)].join(" ");
}
