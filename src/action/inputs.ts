/** @file What a workflow's step may say under `with:`, and what the step says back: the two tables that action.yml repeats. */
import { InputError } from "../ir/errors.ts";
import { parseChoice } from "../settings/values.ts";

/** With what they are where a workflow leaves them out. A test holds action.yml to these tables. */
export const inputs = {
  mode: "review",
  paths: ".",
  models: "changed",
  base: "",
  gpu: "",
  stack: "",
  "fail-on": "new",
  comment: "true",
  "comment-name": "models",
  "comment-file": "",
  "sarif-file": "",
  html: "",
  token: `\${{ github.token }}`,
  "working-directory": "",
  "source-root": "",
  "path-mapping": "",
} as const;

export type InputName = keyof typeof inputs;

export const outputs = [
  "findings",
  "new-findings",
  "regressions",
  "sarif-file",
  "html",
  "comment-file",
  "comment-body",
] as const;

export type OutputName = (typeof outputs)[number];

export const modes = ["review", "comment"] as const;
const selections = ["changed", "all"] as const;
/** `new`: what a comparison with the base fails on; the next two as --fail-on has them. */
const failOns = ["new", "error", "fixable", "never"] as const;

export interface ActionInputs {
  readonly mode: (typeof modes)[number];
  readonly paths: readonly string[];
  readonly models: (typeof selections)[number];
  readonly base: string | undefined;
  readonly gpu: string | undefined;
  readonly stack: string | undefined;
  readonly failOn: (typeof failOns)[number];
  readonly comment: boolean;
  readonly commentName: string;
  readonly commentFile: string | undefined;
  readonly sarifFile: string | undefined;
  readonly html: string | undefined;
  readonly token: string | undefined;
  readonly workingDirectory: string | undefined;
  readonly sourceRoot: string | undefined;
  readonly pathMapping: readonly string[];
}

type Environment = Readonly<Record<string, string | undefined>>;

/** The runner hands each over as a variable. Throws InputError naming the input. */
export function readInputs(env: Environment): ActionInputs {
  const text = (name: InputName) => {
    // What runs without a runner's defaults, as a test does, has those of the table; a token is never one.
    const given = env[`INPUT_${name.replaceAll(" ", "_").toUpperCase()}`];
    return (given ?? (name === "token" ? "" : inputs[name])).trim();
  };
  const optional = (name: InputName) => text(name) || undefined;
  const lines = (name: InputName) =>
    text(name)
      .split(/\r?\n/)
      .map((line) => line.trim())
      .filter((line) => line !== "");
  const someLines = (name: InputName) => {
    const found = lines(name);
    if (found.length > 0) return found;
    throw new InputError("usage", `${name}: is empty, expected a line each: models, folders or patterns`);
  };
  return {
    mode: parseChoice(text("mode"), "mode", modes),
    paths: someLines("paths"),
    models: parseChoice(text("models"), "models", selections),
    base: optional("base"),
    gpu: optional("gpu"),
    stack: optional("stack"),
    failOn: parseChoice(text("fail-on"), "fail-on", failOns),
    comment: parseSwitch(text("comment"), "comment"),
    commentName: text("comment-name"),
    commentFile: optional("comment-file"),
    sarifFile: optional("sarif-file"),
    html: optional("html"),
    token: optional("token"),
    workingDirectory: optional("working-directory"),
    sourceRoot: optional("source-root"),
    pathMapping: lines("path-mapping"),
  };
}

function parseSwitch(text: string, name: InputName): boolean {
  // As YAML 1.2 and the runner's own toolkit have it.
  if (/^(?:true|True|TRUE)$/.test(text)) return true;
  if (/^(?:false|False|FALSE)$/.test(text)) return false;
  throw new InputError("usage", `${name}: found "${text}", expected true or false`);
}
