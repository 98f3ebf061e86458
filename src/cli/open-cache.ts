/** @file What a run keeps, and what it says of it. Loaded by runs with `--cache`. */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { cacheFolder, pruneEntries } from "../files/cache-folder.ts";
import { counted } from "../ir/format.ts";
import type { CachePlan, LintOutcome } from "../settings/lint-plan.ts";
import { toDisplayPath } from "../settings/paths.ts";
import { version } from "../version.ts";
import type { CacheFlags } from "./cache-options.ts";
import { complain } from "./stderr.ts";

/** Undefined where nothing can be kept, which is said. */
export function openCache({ location, strategy }: CacheFlags, workerUrl: URL): CachePlan | undefined {
  const folder = cacheFolder(location, complain);
  if (folder === undefined) return undefined;
  // Names of chunks are of their content: the script of workers changes with whatever it loads.
  const script = createHash("sha256").update(readFileSync(workerUrl)).digest("hex");
  return { folder, strategy, build: `${version} ${script}` };
}

const mebibyte = 2 ** 20;
const standardMebibytes = 512;

interface CacheNotes {
  readonly isVerbose: boolean;
  /** Outcomes that rules of plugins, or profiles, have a part in. */
  readonly passedOver: number;
}

/** Says what there is to say, and keeps the folder within its bound. */
export function closeCache(
  { folder }: CachePlan,
  outcomes: readonly LintOutcome[],
  { isVerbose, passedOver }: CacheNotes,
): void {
  const hits = outcomes.filter(({ cache }) => cache?.isHit === true).length;
  const all = counted(outcomes.length, "model");
  if (isVerbose) complain(`--cache: ${hits} of ${all} known from ${toDisplayPath(folder)}`);
  if (isVerbose && passedOver > 0)
    complain(
      `--cache: ${counted(passedOver, "model")} linted anew in every run, because of rules of plugins or a profile`,
    );
  const problem = outcomes.map(({ cache }) => cache?.problem).find((text) => text !== undefined);
  if (problem !== undefined) complain(`--cache: not all is kept: ${problem}`);
  const limit = Number(process.env["TC_LINT_CACHE_MB"] ?? standardMebibytes);
  if (hits < outcomes.length) pruneEntries(folder, (limit >= 0 ? limit : standardMebibytes) * mebibyte);
}
