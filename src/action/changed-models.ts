/** @file The models that a change is about: by their own file, by their weights, or by what configures them. */
import { basename, posix } from "node:path";
import { makePlans, type PlanRequest } from "../api/make-plans.ts";
import { locationsOf } from "../files/base-files.ts";
import type { BaseRevision } from "../files/base-revision.ts";
import { changedFiles } from "../files/fetch-base.ts";
import { configNames } from "../files/find-config.ts";
import { isModelName } from "../files/find-models.ts";
import { InputError } from "../ir/errors.ts";
import { Guard } from "../limits/guard.ts";
import { suppressionsName } from "../settings/suppressions.ts";

export type Reason = "model" | "weights" | "configuration";

/** Paths of the models below `patterns`, and why each is looked at. Without a revision all are new. */
export async function changedModels(
  patterns: readonly string[],
  revision: BaseRevision | undefined,
  request: PlanRequest,
): Promise<ReadonlyMap<string, Reason>> {
  const plans = await makePlans(patterns, request);
  if (revision === undefined) return new Map(plans.map(({ path }) => [path, "model"]));
  const changes = new Changes(revision);
  return new Map(
    plans.flatMap(({ path, settings }) => {
      const reason = changes.reasonOf(path, settings.configFiles);
      return reason === undefined ? [] : [[path, reason] as const];
    }),
  );
}

class Changes {
  readonly #revision: BaseRevision;
  readonly #files: ReadonlySet<string>;
  readonly #others: readonly string[];
  /** Where a configuration, or a baseline, is another: it holds for what lies below. */
  readonly #configured: readonly string[];

  constructor(revision: BaseRevision) {
    this.#revision = revision;
    this.#files = changedFiles(revision.root, revision.commit);
    this.#others = [...this.#files].filter((place) => !isModelName(place));
    const names: ReadonlySet<string> = new Set([...configNames, suppressionsName]);
    this.#configured = this.#others.filter((place) => names.has(basename(place))).map(posix.dirname);
  }

  reasonOf(path: string, configFiles: readonly string[]): Reason | undefined {
    const place = this.#placeOf(path);
    if (place === undefined) return undefined;
    if (this.#files.has(place)) return "model";
    const isConfigured =
      configFiles.some((file) => this.#files.has(this.#placeOf(file) ?? "")) ||
      this.#configured.some((folder) => isBelow(place, folder));
    if (isConfigured) return "configuration";
    return this.#hasOtherWeights(path, place) ? "weights" : undefined;
  }

  /** What lies outside of the repository is none of the change. */
  #placeOf(path: string): string | undefined {
    try {
      return this.#revision.placeOf(path);
    } catch (error) {
      if (error instanceof InputError) return undefined;
      throw error;
    }
  }

  /** A model is opened only where something beside it changed. */
  #hasOtherWeights(path: string, place: string): boolean {
    const folder = posix.dirname(place);
    if (!this.#others.some((other) => isBelow(other, folder))) return false;
    const locations = new Guard({ path, doing: "linting" }).runRepeatable(() => locationsOf(path));
    return locations.some((location) => this.#files.has(posix.join(folder, location.replaceAll("\\", "/"))));
  }
}

function isBelow(place: string, folder: string): boolean {
  return folder === "." || place.startsWith(`${folder}/`);
}
