/** @file The flags of a run that is parted among machines: what yargs is told, and what it gives back, checked. */
import { InputError } from "../ir/errors.ts";
import { type LintFormat, lintFormatNames } from "../report/registry.ts";
import { parseShard, type Shard, wholeRun } from "../settings/shard.ts";
import { parseChoice, parseValues } from "../settings/values.ts";
import { mapped, single } from "./arguments.ts";
import type { SuppressFlags } from "./suppress-options.ts";

const group = "Shards:";

export const shardOptions = {
  shard: {
    type: "string",
    requiresArg: true,
    group,
    describe:
      "Lint only part I of N, as 2/4: by names and sizes, the same on every machine; see merge-reports",
  },
  "merge-as": {
    type: "string",
    requiresArg: true,
    group,
    describe:
      "Formats that -f blob is merged to and that need more of each model, with commas or repeated: html,csv",
  },
} as const;

export interface ShardFlags {
  readonly shard: Shard;
  /** The file for `merge-reports`. */
  readonly blob: string | undefined;
  /** What that file must be enough for. */
  readonly mergeAs: readonly LintFormat[];
}

type Arguments = { readonly [Name in keyof typeof shardOptions]?: unknown };

/** Throws InputError `usage`. */
export function readShardFlags(argv: Arguments, blob: string | undefined): ShardFlags {
  const formats = mapped(argv["merge-as"], (texts) =>
    [texts].flat().flatMap((text) => parseValues(String(text), "--merge-as")),
  );
  if (formats !== undefined && blob === undefined)
    throw new InputError("usage", "--merge-as: found without -f blob=PATH, which it is about");
  return {
    shard: mapped(single(argv.shard, "--shard"), parseShard) ?? wholeRun,
    blob,
    mergeAs: (formats ?? []).map((format) => parseChoice(format, "--merge-as", lintFormatNames)),
  };
}

export function isPart({ shard }: Pick<ShardFlags, "shard">): boolean {
  return shard.count > 1;
}

/** What needs all models, or is no lint report. Throws InputError `usage`. */
export function checkShardFlags(
  { shards, suppressions }: { readonly shards: ShardFlags; readonly suppressions: SuppressFlags },
  isFix: boolean,
): void {
  const flag = isPart(shards) ? "--shard" : shards.blob === undefined ? undefined : "--format blob";
  if (flag === undefined) return;
  if (isFix)
    throw new InputError(
      "usage",
      `${flag}: found beside --fix or --diff, whose repairs no merged report has`,
    );
  if (suppressions.action !== undefined)
    throw new InputError(
      "usage",
      `${flag}: found beside a flag that writes suppressions, of all models at once`,
    );
}
