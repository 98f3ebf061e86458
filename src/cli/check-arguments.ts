/** @file Arguments that yargs would pass over, and what it says of others, in the words that tc-lint has for the rest. */
import { InputError } from "../ir/errors.ts";
import { counted } from "../ir/format.ts";
import { closest } from "../settings/closest.ts";
import { compareOptions } from "./compare-options.ts";
import { fixOptions } from "./fix-options.ts";
import { benchOptions } from "./gpu-options.ts";
import { lintOptions } from "./options.ts";
import { validateOptions } from "./validate-options.ts";
import { verifyOptions } from "./verify-options.ts";

const pathFlags: ReadonlySet<string> = new Set([
  ...["--config", "--calibration", "--profile", "--samples", "--fix-output", "--output", "-o"],
  ...["--inputs", "--save-inputs", "--against", "--suppressions-location", "--cache-location"],
]);

/** What yargs passes over, or hands on without a name: an empty argument, a lone hyphen, a switch with a value. Throws InputError `usage`. */
export function checkArguments(args: readonly string[]): void {
  for (const [index, arg] of args.entries()) {
    checkSwitch(arg);
    const [flag, value] =
      arg.startsWith("-") && arg.endsWith("=") ? [arg.slice(0, -1), ""] : [args[index - 1], arg];
    if (value === "-") {
      const what = "models are read from files, and reports go to stdout where no file is named";
      throw new InputError("usage", `found "-", expected a path: ${what}`);
    }
    if (value !== "") continue;
    if (flag !== undefined && pathFlags.has(flag))
      throw new InputError("usage", `${flag}: found "", expected a path`);
    if (flag === undefined || !takesValue(flag))
      throw new InputError("usage", 'found "" among the arguments, expected the path of a model');
  }
}

const options = {
  ...lintOptions,
  ...fixOptions,
  ...compareOptions,
  ...verifyOptions,
  ...benchOptions,
  ...validateOptions,
};

/** yargs takes every word but "true" for false: `--fix --diff=yes` would write. */
function checkSwitch(arg: string): void {
  const [, name = "", value] = /^--(?:no-)?([\w-]+)=(.*)$/s.exec(arg) ?? [];
  if (value === undefined || value === "true" || value === "false") return;
  const option = Object.entries(options).find(([key]) => key === name)?.[1];
  if (option?.type === "boolean")
    throw new InputError(
      "usage",
      `--${name}: takes no value, found "${value}"; --no-${name} switches it off`,
    );
}

function takesValue(flag: string): boolean {
  const name = flag.replace(/^--?/, "");
  const isNamed = (key: string, option: object) =>
    key === name || ("alias" in option && option.alias === name);
  const found = Object.entries(options).find(([key, option]) => flag !== name && isNamed(key, option));
  return found !== undefined && found[1].type === "string";
}

/** What yargs found wrong; `args`: of the whole command line. */
export function plainMessage(message: string, args: readonly string[]): string {
  const [, name = "", given = "", choices = ""] =
    /^Invalid values:\s+Argument: (\S+), Given: (.*), Choices: (.*)$/.exec(message) ?? [];
  if (choices !== "") {
    const hyphens = Object.hasOwn(options, name) ? "--" : "";
    return `${hyphens}${name}: found ${given}, expected one of ${choices.replaceAll('"', "")}`;
  }
  const [, got, needed] =
    /^Not enough non-option arguments: got (\d+), need at least (\d+)/.exec(message) ?? [];
  if (got === undefined) return `${message}${flagHint(message)}`;
  const command = args.find((arg) => !arg.startsWith("-")) ?? "";
  return `${command}: expected ${counted(Number(needed), "argument")}, found ${got}; tc-lint ${command} --help names each`;
}

/** The flag that an unknown one was meant to be. */
function flagHint(message: string): string {
  const [, unknown] = /^Unknown arguments?: ([^,]+)/.exec(message) ?? [];
  const nearest =
    unknown === undefined || unknown.length === 1
      ? undefined
      : closest(
          unknown,
          // One that another command has is no misspelling.
          Object.keys(options).filter((name) => name !== unknown),
        );
  return nearest === undefined ? "" : `; did you mean --${nearest}?`;
}
