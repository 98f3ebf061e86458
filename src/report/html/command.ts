/** @file The command that mends a model, as a shell takes it. */
import type { FindingGroup, ModelReport } from "../../lint/result.ts";

/** For the target and sizes that it was priced at: another target is mended otherwise. Undefined where no command is sure to gain. */
export function commandLine(
  model: ModelReport,
  { fixCommand }: Pick<FindingGroup, "fixCommand">,
): string | undefined {
  if (fixCommand === null) return undefined;
  const { path, target, symbols, assumed } = model;
  const { gpu, stack, precision } = target;
  const flags = fixCommand.split(" ");
  const left = new Set(assumed);
  const sizes = Object.entries(symbols).filter(([name]) => !left.has(name));
  const words = [
    "tc-lint",
    ...flags,
    "--gpu",
    gpu,
    "--stack",
    stack,
    // What is said nothing of is priced in FP16 and stored as it is: to ask for half is to have it stored.
    ...(flags.includes("--precision") || precision === "fp16" ? [] : ["--precision", precision]),
    ...sizes.flatMap(([name, size]) => ["--dim", `${name}=${size}`]),
    // A path that looks like an option is none behind these.
    ...(path.startsWith("-") ? ["--"] : []),
    path,
  ];
  return words.map(shellWord).join(" ");
}

/** Single quotes keep everything but themselves. */
export function shellWord(word: string): string {
  return /^[\w./:=@%+,-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
