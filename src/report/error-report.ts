/** @file What failed, as data: of models that could not be linted, and of a run that came to nothing. */
import { nodeNamedIn } from "../ir/model.ts";
import type { ErrorReport, ModelReport } from "../lint/result.ts";

/** A bad input, by its stable code. */
export interface Failure {
  readonly code: string;
  readonly message: string;
}

export function errorReport({ code, message }: Failure, file: string | null): ErrorReport {
  return { code, message, file, node: nodeNamedIn(message) ?? null, ...foundIn(message) };
}

/** Of a report's models, in order. */
export function errorsOf(models: readonly Pick<ModelReport, "path" | "error">[]): ErrorReport[] {
  return models.flatMap(({ path, error }) => (error === null ? [] : [errorReport(error, path)]));
}

/** Messages say what was found and what was expected in these words, in either order. */
const wordings = [
  /\bfound (?<found>.+?), expected (?<expected>.+?)(?=$|[;:]| \()/s,
  /\bexpected (?<expected>.+?), found (?<found>.+?)(?=$|[;:]| \()/s,
] as const;

function foundIn(message: string): Pick<ErrorReport, "found" | "expected"> {
  const groups = wordings.map((each) => each.exec(message)?.groups).find((each) => each !== undefined);
  return { found: groups?.["found"] ?? null, expected: groups?.["expected"] ?? null };
}
