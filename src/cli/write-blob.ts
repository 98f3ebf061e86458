/** @file What a run leaves for merge-reports. Loaded by runs that are parted or merged later. */
import { sizeNames } from "../api/make-plans.ts";
import { loadedPlugins } from "../api/plugins.ts";
import { type ShardPlans, shardReport } from "../api/shards.ts";
import { writeShardFile } from "../files/shard-file.ts";
import type { LintOutcome } from "../settings/lint-plan.ts";
import type { LintFlags } from "./options.ts";
import { carriedOptions } from "./shard-carried.ts";
import type { Baseline } from "./suppressions.ts";
import { placesHere } from "./write-reports.ts";

export { selectShard } from "../api/shards.ts";

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
    plugins: loadedPlugins(),
    keyOf,
  });
  writeShardFile(blob, report);
}
