/** @file A run parted among machines: which models are whose, what each part carries, and how the parts are one run again. */
import { createHash } from "node:crypto";
import { gitLine } from "../files/git.ts";
import { statOf } from "../files/look.ts";
import { InputError } from "../ir/errors.ts";
import { groupBy } from "../ir/group.ts";
import type { ModelReport } from "../lint/result.ts";
import type { LintOutcome, LintPlan } from "../settings/lint-plan.ts";
import { toDisplayPath } from "../settings/paths.ts";
import type { ResolvedSettings } from "../settings/resolve.ts";
import { type Shard, shardOf } from "../settings/shard.ts";
import {
  type CarriedPlugin,
  type CarriedSuppressions,
  type ShardModel,
  type ShardReport,
  type Sources,
  shardFormat,
  shardKind,
} from "../settings/shard-report.ts";
import { version } from "../version.ts";

/** Of all models of a run, those of one shard. */
export interface ShardPlans {
  readonly shard: Shard;
  readonly plans: readonly LintPlan[];
  /** Of all models. */
  readonly places: ReadonlyMap<string, number>;
  readonly bytes: ReadonlyMap<string, number | null>;
  readonly set: string;
  readonly decided: string;
}

export function selectShard(plans: readonly LintPlan[], shard: Shard): ShardPlans {
  const paths = [...new Set(plans.map(({ path }) => path))];
  const bytes = new Map(paths.map((path) => [path, bytesAt(path)]));
  const sized = paths.map((path) => ({ path, bytes: bytes.get(path) ?? 0 }));
  const own = shardOf(sized, shard);
  return {
    shard,
    plans: plans.filter(({ path }) => own.has(path)),
    places: new Map(paths.map((path, place) => [path, place])),
    bytes,
    set: digestOf([...bytes]),
    decided: digestOf(plans.map(wherever)),
  };
}

/** A plugin is its code, which is held against the other shards' by itself, wherever the checkout lies. */
function wherever(plan: LintPlan): LintPlan {
  return { ...plan, settings: { ...plan.settings, plugins: plan.settings.plugins.map(toDisplayPath) } };
}

function bytesAt(path: string): number | null {
  const seen = statOf(path);
  return typeof seen === "string" ? null : seen.size;
}

function digestOf(values: readonly unknown[]): string {
  const hash = createHash("sha256");
  for (const value of values) hash.update(JSON.stringify(value)).update("\n");
  return hash.digest("hex");
}

/** What a part carries beside its outcomes. */
export interface ShardContext {
  readonly options: Readonly<Record<string, unknown>>;
  readonly suppressions: CarriedSuppressions | null;
  readonly plugins: readonly CarriedPlugin[];
  /** What the file of suppressions calls a model. */
  readonly keyOf: (path: string) => string | null;
  readonly repositoryPath: (path: string) => string;
  readonly localPath: (file: string) => string | undefined;
}

/** `outcomes`: of the shard's plans, nothing of them suppressed yet. */
export function shardReport(
  { shard, plans, places, bytes, set, decided }: ShardPlans,
  outcomes: readonly LintOutcome[],
  context: ShardContext,
): ShardReport {
  const settings = new Map<string, { readonly value: ResolvedSettings; readonly place: number }>();
  const placeOf = (value: ResolvedSettings): number => {
    const key = JSON.stringify(value);
    const known = settings.get(key) ?? { value, place: settings.size };
    settings.set(key, known);
    return known.place;
  };
  const byPath = groupBy(outcomes, ({ report }) => report.path);
  const models = [...groupBy(plans, ({ path }) => path)].map(
    ([path, own]): ShardModel => ({
      place: places.get(path) ?? 0,
      path,
      bytes: bytes.get(path) ?? null,
      repositoryPath: context.repositoryPath(path),
      key: context.keyOf(path),
      settings: own.map((plan) => placeOf(plan.settings)),
      outcomes: byPath.get(path) ?? [],
    }),
  );
  const header = {
    kind: shardKind,
    format: shardFormat,
    version,
    shard,
    models: places.size,
    set,
    plans: decided,
    commit: commitHere(),
    options: context.options,
    suppressions: context.suppressions,
    plugins: context.plugins,
    settings: [...settings.values()].map(({ value }) => value),
  } as const;
  return { header, models, sources: sourcesOf(outcomes, context) };
}

function commitHere(): string | null {
  try {
    return gitLine(process.cwd(), ["rev-parse", "--verify", "HEAD"]) ?? null;
  } catch (error) {
    if (error instanceof InputError) return null;
    throw error;
  }
}

function sourcesOf(outcomes: readonly LintOutcome[], { localPath }: ShardContext): Sources {
  const files = new Set<string>();
  for (const { report } of outcomes)
    for (const { source } of findingsOf(report)) if (source !== null) files.add(source.file);
  return [...files].map((file) => [file, localPath(file) ?? null]);
}

function findingsOf({ findings, unlisted, suppressions = [] }: ModelReport) {
  return [...findings, ...(unlisted?.findings ?? []), ...suppressions];
}

/** A shard and the file that it was read from. */
export interface ReadShard {
  readonly file: string;
  readonly report: ShardReport;
}

/** Models in the order of the unsharded run. */
export interface MergedShards {
  readonly models: readonly ShardModel[];
  readonly plans: readonly Pick<LintPlan, "path" | "settings">[];
  readonly outcomes: readonly LintOutcome[];
  readonly sources: ReadonlyMap<string, string | null>;
}

/** Throws InputError `bad-shard` where they are not all of one run's. */
export function mergeShards(shards: readonly ReadShard[]): MergedShards {
  checkShards(shards);
  const models: ShardModel[] = [];
  const plans = new Map<number, Pick<LintPlan, "path" | "settings">[]>();
  for (const { file, report } of shards) {
    for (const model of report.models) {
      if (models[model.place] !== undefined || model.place >= report.header.models)
        throw new InputError("bad-shard", `${file}: "${model.path}" is of another shard, too`);
      models[model.place] = model;
      const settings = model.settings.flatMap((place) => report.header.settings[place] ?? []);
      plans.set(
        model.place,
        settings.map((each) => ({ path: model.path, settings: each })),
      );
    }
  }
  const ordered = Object.values(models);
  const [first] = shards;
  if (first !== undefined && ordered.length !== first.report.header.models)
    throw new InputError(
      "bad-shard",
      `${first.file}: of ${first.report.header.models} models, the shards have ${ordered.length}`,
    );
  return {
    models: ordered,
    plans: ordered.flatMap(({ place }) => plans.get(place) ?? []),
    outcomes: ordered.flatMap(({ outcomes }) => outcomes),
    sources: new Map(shards.flatMap(({ report }) => report.sources)),
  };
}

function checkShards(shards: readonly ReadShard[]): void {
  const [first, ...more] = shards;
  if (first === undefined) throw new InputError("usage", "merge-reports: found no file, expected all shards");
  for (const each of more) checkSameRun(first, each);
  const { count } = first.report.header.shard;
  const byIndex = groupBy(shards, ({ report }) => report.header.shard.index);
  for (const [index, [one, other]] of byIndex)
    if (one !== undefined && other !== undefined)
      throw new InputError("bad-shard", `${one.file} and ${other.file} are both shard ${index}/${count}`);
  const missing = Array.from({ length: count }, (_, at) => at + 1).filter((index) => !byIndex.has(index));
  if (missing.length > 0) {
    const named = missing.map((index) => `${index}/${count}`).join(", ");
    throw new InputError("bad-shard", `missing: shard ${named}; its run failed, or its file is not here`);
  }
}

/** Throws InputError `bad-shard` that says in what they differ. */
function checkSameRun(one: ReadShard, other: ReadShard): void {
  const [a, b] = [one.report.header, other.report.header];
  const fail = (what: string) =>
    new InputError("bad-shard", `${one.file} and ${other.file} are not of one run: ${what}`);
  if (a.version !== b.version) throw fail(`tc-lint ${a.version} and ${b.version}`);
  if (a.shard.count !== b.shard.count) throw fail(`shards of ${a.shard.count} and of ${b.shard.count}`);
  if (a.commit !== b.commit) throw fail(`commits ${a.commit ?? "unknown"} and ${b.commit ?? "unknown"}`);
  if (a.set !== b.set) throw fail("other models, or models of other sizes");
  const names = new Set([...Object.keys(a.options), ...Object.keys(b.options)]);
  for (const name of names) {
    const [x, y] = [JSON.stringify(a.options[name]), JSON.stringify(b.options[name])];
    if (x !== y) throw fail(`${name}: ${x ?? "not given"} and ${y ?? "not given"}`);
  }
  const plugin = otherPlugin(a.plugins, b.plugins);
  if (plugin !== undefined) throw fail(`the plugin ${plugin}`);
  if (a.plans !== b.plans) throw fail("configurations, targets or sizes differ");
  if (a.suppressions?.text !== b.suppressions?.text) throw fail("the files of suppressions differ");
}

/** The first that one of both had alone, or as other code. */
function otherPlugin(a: readonly CarriedPlugin[], b: readonly CarriedPlugin[]): string | undefined {
  const codes = [a, b].map((plugins) => new Map(plugins.map(({ from, code }) => [from, code])));
  const [ofA, ofB] = codes;
  const differing = [...a, ...b].find(({ from }) => ofA?.get(from) !== ofB?.get(from));
  if (differing === undefined) return undefined;
  const { from } = differing;
  const isBoth = ofA?.has(from) === true && ofB?.has(from) === true;
  return `${from} is ${isBoth ? "other code on one machine than on the other" : "one machine's alone"}`;
}
