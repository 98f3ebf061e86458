/** @file What shards carry of their command line, and the flags of the merged run that it makes. */
import type { LintFormat } from "../report/registry.ts";
import type { FinishFlags } from "./finish-lint.ts";
import type { LintFlags } from "./options.ts";

/** By flag, as it differs between runs; what decides about models is in their plans. */
export interface CarriedOptions {
  readonly "--table": boolean;
  readonly "--verbose": boolean;
  readonly "--show-suppressed": boolean;
  readonly "--report-unused-suppressions": boolean;
  readonly "--pass-on-unpruned-suppressions": boolean;
  readonly "--stats": boolean;
  readonly "--select": readonly string[] | null;
  readonly "--ignore": readonly string[] | null;
  readonly "--quiet": boolean;
  readonly "--max-warnings": number | null;
  readonly "--fail-on": FinishFlags["failOn"];
  readonly "--exit-zero": boolean;
  readonly "--lfs-pointers": FinishFlags["lfsPointers"];
  readonly "--merge-as": readonly LintFormat[];
  /** Names that `--shape` and `--dim` give sizes for. */
  readonly "--dim": readonly string[];
}

export function carriedOptions(flags: LintFlags, sizes: readonly string[]): Record<string, unknown> {
  return {
    "--table": flags.table,
    "--verbose": flags.verbose,
    "--show-suppressed": flags.suppressed,
    "--report-unused-suppressions": flags.reportUnused,
    "--pass-on-unpruned-suppressions": flags.suppressions.passOnUnpruned,
    "--stats": flags.stats,
    "--select": flags.settings.select ?? null,
    "--ignore": flags.settings.ignore ?? null,
    "--quiet": flags.quiet,
    "--max-warnings": flags.maxWarnings ?? null,
    "--fail-on": flags.failOn,
    "--exit-zero": flags.exitZero,
    "--lfs-pointers": flags.lfsPointers,
    "--merge-as": flags.shards.mergeAs,
    "--dim": sizes,
  } satisfies CarriedOptions;
}

/** The flags of the run that the shards are parts of, with the reports that are asked for now. */
export function mergedFlags(
  options: CarriedOptions,
  { reports, color }: Pick<FinishFlags, "reports" | "color">,
): FinishFlags {
  return {
    reports,
    color,
    table: options["--table"],
    verbose: options["--verbose"],
    suppressed: options["--show-suppressed"],
    reportUnused: options["--report-unused-suppressions"],
    suppressions: { passOnUnpruned: options["--pass-on-unpruned-suppressions"] },
    stats: options["--stats"],
    settings: { select: options["--select"] ?? undefined, ignore: options["--ignore"] ?? undefined },
    quiet: options["--quiet"],
    maxWarnings: options["--max-warnings"] ?? undefined,
    failOn: options["--fail-on"],
    exitZero: options["--exit-zero"],
    lfsPointers: options["--lfs-pointers"],
  };
}
