/** @file What one shard's run leaves for `tc-lint merge-reports`: everything that reports of all models are made of, as plain data. */
import type { CustomRule } from "../lint/plugin/custom-rule.ts";
import type { LintOutcome } from "./lint-plan.ts";
import type { ResolvedSettings } from "./resolve.ts";
import type { Shard } from "./shard.ts";

/** How such a file begins, whatever its version. */
export const shardKind = "tc-lint shard report";
/** Of the file's own shape. */
export const shardFormat = 2;

/** tc-lint-suppressions.json as the run saw it. */
export interface CarriedSuppressions {
  /** As messages name it. */
  readonly shown: string;
  /** What it says; null where it is not there. */
  readonly text: string | null;
  /** Models that it names and that are not on the disk. */
  readonly absent: readonly string[];
}

/** What reports say of a rule of a plugin. */
export type CarriedRule = Pick<
  CustomRule,
  "code" | "name" | "severity" | "fix" | "messages" | "description" | "url" | "plugin" | "from"
>;

/** A plugin that the run had: whoever merges has none of its code. */
export interface CarriedPlugin {
  /** As messages name it. */
  readonly from: string;
  /** A digest of its file and of all that it imports. */
  readonly code: string;
  readonly rules: readonly CarriedRule[];
}

/** What holds for a shard as a whole. */
export interface ShardHeader {
  readonly kind: typeof shardKind;
  readonly format: typeof shardFormat;
  /** Of tc-lint. */
  readonly version: string;
  readonly shard: Shard;
  /** All models of the run, not the shard's alone: how many, a digest of their names and sizes, and one of what is decided about them. */
  readonly models: number;
  readonly set: string;
  readonly plans: string;
  /** Of the repository; null where there is none. */
  readonly commit: string | null;
  /** By flag: what the report and the exit code depend on. */
  readonly options: Readonly<Record<string, unknown>>;
  readonly suppressions: CarriedSuppressions | null;
  /** Of all models of the run. */
  readonly plugins: readonly CarriedPlugin[];
  /** Those of the shard's models, each once. */
  readonly settings: readonly ResolvedSettings[];
}

/** One model, in all its scenarios. */
export interface ShardModel {
  /** Its place among all models of the run. */
  readonly place: number;
  readonly path: string;
  /** Of its file; null where it cannot be looked at. */
  readonly bytes: number | null;
  /** Its path in the repository. */
  readonly repositoryPath: string;
  /** What the file of suppressions calls it; null where none is read. */
  readonly key: string | null;
  /** Of its plans, by their place in the header. */
  readonly settings: readonly number[];
  /** As linted: nothing suppressed, nothing skipped. */
  readonly outcomes: readonly LintOutcome[];
}

/** Files of exporters' machines, each with the path of the repository that it is here, or null. */
export type Sources = readonly (readonly [file: string, local: string | null])[];

export interface ShardReport {
  readonly header: ShardHeader;
  readonly models: readonly ShardModel[];
  readonly sources: Sources;
}
