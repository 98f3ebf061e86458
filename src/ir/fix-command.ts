/** @file The flags that make a fix: decided with what it saves, so that every report names the same; and how a shell takes them. */

/**
 * What an unsafe fix is asked to change. `precision`: half, by name; `layout`: whatever of half and NHWC takes the least and is sure to gain;
 * `layout-in-half`: half by name, and NHWC where it pays there.
 */
export type Changed = "precision" | "layout" | "layout-in-half";

export type Half = "fp16" | "bf16";

const unsafeFlags: Readonly<Record<Changed, (half: Half) => readonly string[]>> = {
  precision: (half) => ["--precision", half],
  layout: () => ["--unsafe-fixes"],
  // What NHWC saves behind a step to half that nobody takes unasked, it saves in half.
  "layout-in-half": (half) => ["--precision", half, "--unsafe-fixes"],
};

/** Empty where nothing makes it; `half` is the type that half precision stores. */
export function fixFlags(
  fix: "safe" | "unsafe" | "none",
  changed: Changed,
  half: Half = "fp16",
): readonly string[] {
  if (fix === "none") return [];
  return fix === "safe" ? ["--fix"] : ["--fix", ...unsafeFlags[changed](half)];
}

export function halfOf(precision: string): Half {
  return precision === "bf16" ? "bf16" : "fp16";
}

/** Whether it is had of a file that stores it, and of no setting of the stack: safe fixes alone bring no file to it. */
export function isOfTypes(precision: string): boolean {
  return isHalf(precision) || isOfCodes(precision);
}

/** What a file is quantized for: no fix stores it. */
export function isOfCodes(precision: string): boolean {
  return precision === "int8";
}

export function isHalf(precision: string): precision is Half {
  return precision === "fp16" || precision === "bf16";
}

/**
 * Whether half precision that nobody names is a step at all: who has a target compute in TF32, FP32 or the types that the file stores has decided on
 * it. `int8` is what a file is quantized for, of which half may be a part.
 */
export function mayBecomeHalf(precision: string): boolean {
  return isOfTypes(precision);
}

/** Code of the notice that a prediction is in the types that the file stores, and not in the half that the target asks for. */
export const asStoredNotice = "as-stored";

/** Single quotes keep everything but themselves. */
export function shellWord(word: string): string {
  return /^[\w./:=@%+,-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

/** A command's flags and more of them, each as a shell takes it; what it has already it keeps. */
export function withFlags(
  command: string,
  more: readonly (readonly [flag: string, value?: string])[],
): string {
  const added = more.filter(([flag]) => flag !== "--precision" || !namesPrecision(command));
  const words = added.map(([flag, value]) => (value === undefined ? flag : `${flag} ${shellWord(value)}`));
  return [command, ...words].join(" ");
}

/** With flags behind it: `--fix` alone names what is done more often than what to type. */
const commandInProse = /--(?:fix|diff)(?: --(?:precision (?:fp16|bf16)|unsafe-fixes|layout nhwc)(?![\w-]))+/g;

/** A sentence whose commands are as they are given. */
export function withCommands(sentence: string, given: (command: string) => string): string {
  return sentence.replace(commandInProse, given);
}

/** Whether it makes more than safe fixes, whatever it says of target and sizes. */
export function asksForMore(command: string): boolean {
  const words = command.split(" ");
  return words.some(
    (word, at) =>
      ["--unsafe-fixes", "--layout"].includes(word) ||
      (word === "--precision" && isHalf(words[at + 1] ?? "")),
  );
}

export function namesPrecision(command: string): boolean {
  return command.split(" ").includes("--precision");
}
