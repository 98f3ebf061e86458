/** @file The flags of tc-lint-suppressions.json: what yargs is told, and what it gives back, checked. */
import { InputError } from "../ir/errors.ts";
import { parseList } from "../settings/values.ts";
import { single } from "./arguments.ts";

const group = "Suppressions:";

export const suppressOptions = {
  "suppress-all": {
    type: "boolean",
    group,
    describe:
      "Write all errors and warnings there are to tc-lint-suppressions.json: only new ones are reported",
  },
  "suppress-rule": {
    type: "string",
    array: true,
    requiresArg: true,
    group,
    describe: "The same for these rules only: codes, names, or prefixes of codes; repeatable",
  },
  "suppressions-location": {
    type: "string",
    requiresArg: true,
    group,
    describe:
      "The file of suppressions (default: the nearest upward, else beside the configuration); --no-suppressions-location reads none",
  },
  "prune-suppressions": {
    type: "boolean",
    group,
    describe: "Take out of it what is found no more",
  },
  "pass-on-unpruned-suppressions": {
    type: "boolean",
    group,
    describe: "Do not fail (exit code 2) where it suppresses what is found no more",
  },
  "report-unused-suppressions": {
    type: "boolean",
    group,
    describe:
      "Fail (exit code 1) where a model's metadata or an override at nodes switches off what is not found",
  },
} as const;

/** What to write; `rules` undefined: of all. */
export type SuppressRequest =
  | { readonly kind: "suppress"; readonly rules?: readonly string[] | undefined }
  | { readonly kind: "prune" };

export interface SuppressFlags {
  /** Undefined: where it is looked for. */
  readonly location: string | undefined;
  /** Whether any file is read. */
  readonly isRead: boolean;
  readonly action: SuppressRequest | undefined;
  readonly passOnUnpruned: boolean;
}

type Arguments = { readonly [Name in keyof typeof suppressOptions]?: unknown };

/** Throws InputError `usage`. */
export function readSuppressFlags(argv: Arguments): SuppressFlags {
  // yargs gives a flag with `no-` back as false, whatever its type.
  const isRead = argv["suppressions-location"] !== false;
  const location = isRead ? single(argv["suppressions-location"], "--suppressions-location") : undefined;
  const action = actionOf(argv);
  if (action !== undefined && !isRead)
    throw new InputError("usage", "--no-suppressions-location: found beside a flag that writes suppressions");
  return { location, isRead, action, passOnUnpruned: argv["pass-on-unpruned-suppressions"] === true };
}

function actionOf(argv: Arguments): SuppressRequest | undefined {
  const given = (["suppress-all", "suppress-rule", "prune-suppressions"] as const).filter(
    (name) => argv[name] !== undefined && argv[name] !== false,
  );
  const [first, second] = given;
  if (first === undefined) return undefined;
  if (second !== undefined)
    throw new InputError("usage", `--${first}: found beside --${second}, expected one of them`);
  if (first === "prune-suppressions") return { kind: "prune" };
  if (first === "suppress-all") return { kind: "suppress" };
  return {
    kind: "suppress",
    rules: parseList([argv["suppress-rule"]].flat().map(String), "--suppress-rule"),
  };
}

/** Throws InputError `usage`. */
export function refuseAction({ action }: SuppressFlags, flag: string): void {
  if (action === undefined) return;
  const what = action.kind === "prune" ? "--prune-suppressions" : "--suppress-all and --suppress-rule";
  throw new InputError("usage", `${flag}: lints nothing, which ${what} would need`);
}
