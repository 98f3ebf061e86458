/** @file The command that mends a model, as a shell takes it. */
import type { Fixability, ModelReport } from "../../lint/result.ts";

/** For the target and sizes that it was priced at: another target is mended otherwise. */
export function fixCommand(
  { path, target, symbols, assumed }: ModelReport,
  fix: Exclude<Fixability, "none">,
): string {
  const flags = fix === "safe" ? ["--fix"] : ["--fix", "--unsafe-fixes"];
  const left = new Set(assumed);
  const sizes = Object.entries(symbols).filter(([name]) => !left.has(name));
  const { gpu, stack, precision } = target;
  const words = [
    "tc-lint",
    ...flags,
    "--gpu",
    gpu,
    "--stack",
    stack,
    "--precision",
    precision,
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
