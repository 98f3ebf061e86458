/** @file Says which external data files are not there: linting needs none of them. */
import type { Notice } from "./read-model.ts";
import { type ModelWithFiles, weightFiles } from "./weights.ts";

/** At most one notice. Throws InputError where a file that is there cannot be right. */
export function missingWeights(model: ModelWithFiles, files = weightFiles(model)): Notice[] {
  const names = files.filter(({ present }) => !present).map(({ location }) => location);
  if (names.length === 0) return [];
  const listed = names.slice(0, 3).join(", ");
  const more = names.length > 3 ? ` and ${names.length - 3} more` : "";
  return [
    { code: "weights-missing", message: `weights not present: ${listed}${more}; shapes are enough to lint` },
  ];
}
