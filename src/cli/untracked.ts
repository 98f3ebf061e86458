/** @file --fail-on-untracked-data: what a commit of the models would lack, and the command that adds it. */
import { orphanedData } from "../files/orphaned-data.ts";
import { untrackedData } from "../files/untracked-data.ts";
import { openModel } from "../onnx/open.ts";
import { presentWeights } from "../onnx/weights.ts";
import { complain } from "./stderr.ts";

export interface ModelData {
  readonly path: string;
  /** Files of its external data that are there. */
  readonly data: readonly string[];
}

/** Data files that a message names. */
const mostNames = 20;

/** Says what is untracked, and what is tracked for nothing; whether anything is untracked. */
export function sayUntracked(models: readonly ModelData[]): boolean {
  const lacking = models.flatMap(({ path, data }) => {
    const files = untrackedData(path, data);
    return files.length === 0 ? [] : [{ path, files }];
  });
  for (const { path, data } of models) {
    const files = orphanedData(path, data);
    if (files.length === 0) continue;
    const names = files.slice(0, mostNames).map(quoted).join(" ");
    complain(
      `${path}: nothing in it, nor in a model beside it, refers to data that Git has: git rm ${names}`,
    );
  }
  for (const { path, files } of lacking) {
    const more = files.length > mostNames ? ` and ${files.length - mostNames} more` : "";
    complain(
      `${path}: its data is not in Git: git add ${files.slice(0, mostNames).map(quoted).join(" ")}${more}`,
    );
  }
  return lacking.length > 0;
}

/** Of models that nothing else has read since they were written. */
export function dataOf(paths: readonly string[]): ModelData[] {
  return paths.map((path) => {
    using model = openModel(path);
    return { path, data: presentWeights(model) };
  });
}

/** As a shell takes it. */
function quoted(path: string): string {
  return /^[\w@%+=:,./-]+$/.test(path) ? path : `"${path.replaceAll(/["$`\\]/g, "\\$&")}"`;
}
