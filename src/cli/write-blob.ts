/** @file What a run leaves for merge-reports. Loaded by runs that are parted or merged later. */
import { sizeNames } from "../api/make-plans.ts";
import { type ShardPlans, shardReport } from "../api/shards.ts";
import { writeShardFile } from "../files/shard-file.ts";
import { InputError } from "../ir/errors.ts";
import type { LintOutcome } from "../settings/lint-plan.ts";
import type { LintFlags } from "./options.ts";
import { carriedOptions } from "./shard-carried.ts";
import type { Baseline } from "./suppressions.ts";
import { placesHere } from "./write-reports.ts";

export { selectShard } from "../api/shards.ts";

/** Before any work: what plugins find has no account where their code is not. Throws InputError `usage`. */
export function refusePlugins({ plans }: ShardPlans, { shards: { blob } }: LintFlags): void {
  const custom = plans.find(({ settings }) => settings.plugins.length > 0);
  if (blob === undefined || custom === undefined) return;
  throw new InputError(
    "usage",
    `-f blob: ${custom.path} has rules of plugins, which merge-reports does not know; lint what has them in one run`,
  );
}

export function writeBlob(
  part: ShardPlans,
  outcomes: readonly LintOutcome[],
  { carried, keyOf }: Pick<Baseline, "carried" | "keyOf">,
  flags: LintFlags,
): void {
  const { blob } = flags.shards;
  if (blob === undefined) return;
  const options = carriedOptions(flags, sizeNames(flags));
  const report = shardReport(part, outcomes, {
    ...placesHere(flags),
    options,
    suppressions: carried(),
    keyOf,
  });
  writeShardFile(blob, report);
}
