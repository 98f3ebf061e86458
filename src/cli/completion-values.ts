/** @file What a shell offers behind a flag: yargs knows names of flags, and values of those that take one of a few. */
import { ladderNames } from "../gpu/ladder/report.ts";
import { gpus } from "../hardware/gpus.ts";
import { stackIds } from "../hardware/stacks.ts";
import { InputError } from "../ir/errors.ts";
import { compareFormatNames } from "../report/compare-format-names.ts";
import { layerFormats, lintFormatNames, runFormatNames } from "../report/registry.ts";
import { cacheStrategies } from "../settings/lint-plan.ts";
import { precisions } from "../settings/rule-selectors.ts";
import { failOns } from "./exit.ts";
import { runPrecisions } from "./gpu-options.ts";

type Values = readonly string[] | Promise<readonly string[]>;

async function rules(): Promise<readonly string[]> {
  const { ruleDocs } = await import("../../rules/docs.ts");
  return ruleDocs.flatMap(({ code, name }) => [code, name]);
}

/** None where none are bundled: a shell is no place for what is missing. */
async function cases(): Promise<readonly string[]> {
  const { caseNames } = await import("../api/kernel-case.ts");
  return caseNames().catch((error: unknown) => {
    if (error instanceof InputError) return [];
    throw error;
  });
}

/** By command; "lint" is also what no command is. What is missing has a list of its own, which yargs knows. */
const formats: Readonly<Record<string, readonly string[]>> = {
  lint: [...lintFormatNames, "blob"],
  "merge-reports": lintFormatNames,
  compare: compareFormatNames,
  validate: runFormatNames,
  verify: runFormatNames,
  bench: runFormatNames,
};

/** `many`: several, separated by commas. */
const flags: Readonly<Record<string, { readonly many?: true; readonly of: (command: string) => Values }>> = {
  gpu: { many: true, of: () => [...gpus.keys()] },
  stack: { many: true, of: () => stackIds },
  precision: { many: true, of: (command) => (isRun(command) ? runPrecisions : precisions) },
  select: { many: true, of: rules },
  ignore: { many: true, of: rules },
  "suppress-rule": { many: true, of: rules },
  "merge-as": { many: true, of: () => [...layerFormats] },
  ladder: { many: true, of: () => ladderNames },
  "fail-on": { of: () => failOns },
  "lfs-pointers": { of: () => ["error", "warn", "skip"] },
  case: { of: cases },
  "cache-strategy": { of: () => cacheStrategies },
};

/** Of commands that run models the runtime's own precisions. */
function isRun(command: string): boolean {
  return command === "bench" || command === "validate";
}

interface Question {
  /** Without hyphens. */
  readonly flag: string;
  readonly typed: string;
  /** What the shell takes for part of the word. */
  readonly before: string;
}

/** What fits behind the last word but one, whole words each; undefined where yargs is to say. */
export async function offeredValues(
  command: string,
  words: readonly string[],
): Promise<readonly string[] | undefined> {
  if (command === "explain" && words.length === 2 && words[1]?.startsWith("-") === false) return rules();
  const question = questionOf(words);
  if (question === undefined) return undefined;
  const { flag, typed, before } = question;
  if (flag === "format" || flag === "f") return formats[command]?.map((name) => `${before}${name}`);
  const found = flags[flag];
  if (found === undefined) return undefined;
  const taken = found.many === true ? typed.split(",").slice(0, -1) : [];
  const values = (await found.of(command)).filter((value) => !taken.includes(value));
  return values.map((value) => `${before}${[...taken, value].join(",")}`);
}

/** bash parts a word at `=`; other shells leave `--gpu=l4` whole. */
function questionOf(words: readonly string[]): Question | undefined {
  const [last = "", second = "", third = ""] = words.slice(-3).reverse();
  const whole = /^--([\w-]+)=(.*)$/.exec(last);
  if (whole !== null) {
    const [, flag = "", typed = ""] = whole;
    return { flag, typed, before: `--${flag}=` };
  }
  if (last === "=" && second.startsWith("-")) return { flag: nameOf(second), typed: "", before: "" };
  if (second === "=" && third.startsWith("-")) return { flag: nameOf(third), typed: last, before: "" };
  return second.startsWith("-") && !last.startsWith("-")
    ? { flag: nameOf(second), typed: last, before: "" }
    : undefined;
}

function nameOf(flag: string): string {
  return flag.replace(/^--?/, "");
}
