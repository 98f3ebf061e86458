/** @file The models of the working tree, each with what a commit has in its place. */
import { join } from "node:path";
import type { CompareReport, FileStatus } from "../compare/result.ts";
import { materialize } from "../files/base-files.ts";
import { type BaseFile, BaseRevision, type Differences } from "../files/base-revision.ts";
import { findModels, isModelName, standsFor } from "../files/find-models.ts";
import { look, statOf } from "../files/look.ts";
import { InputError } from "../ir/errors.ts";
import { groupBy } from "../ir/group.ts";
import { openModel } from "../onnx/open.ts";
import { inputErrorOf } from "../onnx/surroundings.ts";
import { inTemporaryFolder } from "../onnx/temporary-folder.ts";
import { hasMagic } from "../settings/glob.ts";
import type { LintPlan } from "../settings/lint-plan.ts";
import { toDisplayPath } from "../settings/paths.ts";
import {
  type Compared,
  type CompareRequest,
  comparedOf,
  filesOf,
  planRequest,
  type Taken,
} from "./compare-all.ts";
import { type Compare, inLanes } from "./compare-lanes.ts";
import { failedPair, type Pair, type SidePlan } from "./compare-pair.ts";
import { baselineOf, withLetOff } from "./let-off.ts";
import { makePlans } from "./make-plans.ts";

/** Models that have the same content at base are named, not compared. Throws InputError where nothing can be compared as asked. */
export async function compareWithBase(
  ref: string,
  given: readonly string[],
  request: CompareRequest,
): Promise<Compared> {
  const revision = new BaseRevision(ref, process.cwd());
  const baseline = baselineOf(request);
  const others = given.filter((path) => !isModelName(path) && isFile(path));
  const asked = others.map((path) => revision.placeOf(path));
  const differences = { ...revision.differences(asked), asked };
  const isHere = modelsHere(request);
  const patterns = followed(given, differences, { root: revision.root, isHere });
  const sources = new Set(differences.renamed.values());
  const gone = new Map(
    differences.deleted
      .filter((place) => !sources.has(place))
      .map((place) => [toDisplayPath(join(revision.root, place)), place] as const)
      .filter(([path]) => given.some((pattern) => standsFor(pattern, path))),
  );
  if (request.errorOnUnmatchedPattern) refuseNowhere(patterns, [...gone.keys()], ref, request.patternsOf);
  const kept = patterns.filter(
    // A pattern that stands for nothing but models that are gone is no slip.
    (pattern) => ![...gone.keys()].some((path) => standsFor(pattern, path)) || isHere(pattern),
  );
  const heads = kept.length === 0 ? [] : await makePlans(kept, planRequest(request));
  request.checkFiles([...filesOf(heads), ...(baseline === undefined ? [] : [baseline.path])]);
  const run = new BaseRun(revision, differences, gone, request);
  const byPath = [...groupBy(heads, (plan) => plan.path)];
  const labelOf = ([path]: readonly [path: string, ...unknown[]]) => path;
  const taken = await inLanes(byPath, request, { noun: "models", labelOf }, ([path, plans], compare) =>
    run.compareHead(path, plans, compare),
  );
  const gonePlans = await run.gonePlans();
  const ofGone = await inLanes(
    gonePlans,
    request,
    { noun: "deleted models", labelOf },
    ([path, plans], compare) => run.compareGone(path, plans, compare),
  );
  const compared = comparedOf([...taken, ...ofGone].flat(), request, run.parts);
  if (baseline === undefined) return compared;
  return { ...compared, report: withLetOff(compared.report, revision, baseline, request.onNotice) };
}

/** What a path stood for at the commit, and was moved since, is what is compared: lists of changed files name both. */
function followed(
  given: readonly string[],
  { renamed }: Differences,
  { root, isHere }: { readonly root: string; readonly isHere: (pattern: string) => boolean },
): string[] {
  const shown = (place: string) => toDisplayPath(join(root, place));
  const patterns = given.flatMap((pattern) => {
    const moved = [...renamed].filter(([, from]) => standsFor(pattern, shown(from)));
    return moved.length === 0 || isHere(pattern) ? [pattern] : moved.map(([to]) => shown(to));
  });
  return [...new Set(patterns)];
}

/** Whether a pattern stands for any model of the working tree. */
function modelsHere({ allFiles }: CompareRequest): (pattern: string) => boolean {
  const search = { allFiles, say: () => {} };
  return (pattern) => findModels([pattern], search).models.some(({ path }) => look(path) !== "absent");
}

/** A slip must not read as a new model. Throws InputError `unmatched-pattern`. */
function refuseNowhere(
  patterns: readonly string[],
  gone: readonly string[],
  ref: string,
  patternsOf: string | undefined,
): void {
  const nowhere = patterns.filter(
    (pattern) =>
      !hasMagic(pattern) && look(pattern) === "absent" && !gone.some((path) => standsFor(pattern, path)),
  );
  if (nowhere.length === 0) return;
  const listed = nowhere.map((pattern) => `"${pattern}"`).join(", ");
  const of = patternsOf === undefined ? "" : `${patternsOf}: `;
  throw new InputError("unmatched-pattern", `${of}${listed}: not there, and no model of it in ${ref}`);
}

function isFile(path: string): boolean {
  const seen = statOf(path);
  return typeof seen !== "string" && seen.isFile();
}

/** What a model of the working tree was. */
interface Origin {
  readonly status: FileStatus;
  readonly file: BaseFile | undefined;
}

interface WithBase {
  /** Where the content of the commit is in the working tree. */
  readonly here: { readonly path: string; readonly notices: SidePlan["notices"] } | undefined;
  readonly pairOf: (plan: LintPlan, base: SidePlan) => Pair;
  readonly compare: Compare;
}

/** One plan of a model after the other. */
async function each(
  plans: readonly LintPlan[],
  compare: (plan: LintPlan) => Promise<Taken>,
): Promise<Taken[]> {
  const taken: Taken[] = [];
  for (const plan of plans) taken.push(await compare(plan));
  return taken;
}

class BaseRun {
  readonly #revision: BaseRevision;
  readonly #differences: Differences;
  /** Files that are no models by their name, and that the differences are of all the same. */
  readonly #asked: ReadonlySet<string>;
  /** Paths as reports have them, and places in the commit. */
  readonly #gone: Map<string, string>;
  readonly #request: CompareRequest;
  readonly #unchanged: string[] = [];

  constructor(
    revision: BaseRevision,
    { asked, ...differences }: Differences & { readonly asked: readonly string[] },
    gone: Map<string, string>,
    request: CompareRequest,
  ) {
    this.#revision = revision;
    this.#asked = new Set(asked);
    this.#differences = differences;
    this.#gone = gone;
    this.#request = request;
  }

  /** Asks what the model was before it first waits: which one was moved depends on those before. */
  async compareHead(path: string, plans: readonly LintPlan[], compare: Compare): Promise<Taken[]> {
    const head = (plan: LintPlan): SidePlan => ({ plan, file: path, notices: [] });
    const pair = { path, mayLackBase: true };
    let origin: Origin = { status: "added", file: undefined };
    try {
      origin = this.#originOf(path);
    } catch (error) {
      return plans.map((plan) => ({
        outcome: failedPair({ ...pair, status: "changed" }, "base", head(plan), error),
        plan,
      }));
    }
    const { status, file } = origin;
    if (status === "same") return this.#sameOf(path, plans, head);
    if (file === undefined)
      return each(plans, (plan) => compare({ ...pair, status, base: undefined, head: head(plan) }, plan));
    // What was only moved is compared with itself: the content is here.
    const here = status === "moved" ? { path, notices: [] } : undefined;
    const pairOf = (plan: LintPlan, base: SidePlan) => ({ ...pair, status, base, head: head(plan) });
    return this.#withBase(file, plans, { here, pairOf, compare });
  }

  /** What is none by its name is looked at: that something that is no model did not change is nothing to be glad of. */
  #sameOf(path: string, plans: readonly LintPlan[], head: (plan: LintPlan) => SidePlan): Taken[] {
    try {
      if (!isModelName(path)) openModel(path)[Symbol.dispose]();
    } catch (error) {
      const pair = { path, status: "same" } as const;
      return plans.map((plan) => ({ outcome: failedPair(pair, "head", head(plan), error), plan }));
    }
    this.#unchanged.push(path);
    return [];
  }

  /** A model that the working tree has no more. */
  async compareGone(path: string, plans: readonly LintPlan[], compare: Compare): Promise<Taken[]> {
    const place = this.#gone.get(path);
    const file = place === undefined ? undefined : this.#revision.fileAt(place);
    if (file === undefined) return [];
    const pair = { path, status: "deleted", head: undefined, mayLackBase: true } as const;
    const pairOf = (_: LintPlan, base: SidePlan) => ({ ...pair, base });
    return this.#withBase(file, plans, { here: undefined, pairOf, compare });
  }

  /** After all heads: a model that was moved is not gone. */
  async gonePlans(): Promise<(readonly [path: string, plans: readonly LintPlan[]])[]> {
    if (this.#gone.size === 0) return [];
    return [...groupBy(await this.#gonePlans(), (plan) => plan.path)];
  }

  async #gonePlans(): Promise<LintPlan[]> {
    try {
      return await makePlans([...this.#gone.keys()], { ...planRequest(this.#request), forceExclude: true });
    } catch (error) {
      if (error instanceof InputError && error.code === "all-ignored") return [];
      throw error;
    }
  }

  get parts(): Pick<CompareReport, "base" | "unchanged"> {
    const { ref, commit } = this.#revision;
    return { base: { ref, commit }, unchanged: this.#unchanged };
  }

  /** The model of the commit as a file, for as long as its pairs take. */
  #withBase(
    file: BaseFile,
    plans: readonly LintPlan[],
    { here, pairOf, compare }: WithBase,
  ): Promise<Taken[]> {
    const named = this.#revision.named(file.path);
    const sideOf = (plan: LintPlan, opens: string, notices: SidePlan["notices"]): SidePlan => ({
      plan: { ...plan, path: named },
      file: opens,
      notices,
    });
    return inTemporaryFolder("compare", async (folder) => {
      let found = here;
      try {
        found ??= await materialize(this.#revision, file, folder, this.#request.limits);
      } catch (error) {
        if (inputErrorOf(error) === undefined) throw error;
        return plans.map((plan) => {
          const side = sideOf(plan, named, []);
          return { outcome: failedPair(pairOf(plan, side), "base", side, error), plan };
        });
      }
      const { path, notices } = found;
      return each(plans, (plan) => compare(pairOf(plan, sideOf(plan, path, notices)), plan));
    });
  }

  #originOf(path: string): Origin {
    const { renamed, changed } = this.#differences;
    const place = this.#revision.placeOf(path);
    const from = renamed.get(place);
    const file = this.#revision.fileAt(from ?? place);
    if (file === undefined) return this.#movedOf(path);
    if (from !== undefined) return { status: this.#revision.isSame(file, path) ? "moved" : "changed", file };
    const seen = statOf(path);
    const bytes = typeof seen === "string" ? undefined : seen.size;
    // Git is believed that a file is as it was where its size says so too; a pointer in its place is the same pointer.
    const isAsked = isModelName(path) || this.#asked.has(place);
    const isUntouched =
      isAsked && !changed.has(place) && (bytes === file.bytes || bytes === file.pointer?.bytes);
    return { status: isUntouched || this.#revision.isSame(file, path) ? "same" : "changed", file };
  }

  /** Git knows nothing of a file that was moved and not added. */
  #movedOf(path: string): Origin {
    for (const [goneAs, place] of this.#gone) {
      const file = this.#revision.fileAt(place);
      if (file === undefined || !this.#revision.isSame(file, path)) continue;
      this.#gone.delete(goneAs);
      return { status: "moved", file };
    }
    return { status: "added", file: undefined };
  }
}
