/** @file What failed, as data: of models that could not be linted or compared, and of a run that came to nothing. */
import { nodeNamedIn } from "./model.ts";

/** What could not be linted, and why: what `message` says, with its parts where it has them. */
export interface ErrorReport {
  readonly code: string;
  readonly message: string;
  /** Null where no file is at fault: a flag is. */
  readonly file: string | null;
  readonly node: string | null;
  readonly found: string | null;
  readonly expected: string | null;
}

/** A bad input, by its stable code. */
export interface Failure {
  readonly code: string;
  readonly message: string;
}

export function errorReport({ code, message }: Failure, file: string | null): ErrorReport {
  return { code, message, file, node: nodeNamedIn(message) ?? null, ...foundIn(message) };
}

/** Of a report's models, in order. */
export function errorsOf(
  models: readonly { readonly path: string; readonly error: Failure | null }[],
): ErrorReport[] {
  return models.flatMap(({ path, error }) => (error === null ? [] : [errorReport(error, path)]));
}

/** Messages say what was found and what was expected in these words, in either order. */
const wordings = [
  /\bfound (?<found>.+?), expected (?<expected>.+?)(?=$|[;:]| \()/s,
  /\bexpected (?<expected>.+?), found (?<found>.+?)(?=$|[;:]| \()/s,
] as const;

/** `strides are [0,0], expected positive numbers`: a clause of its own, of which the verb and what is before it is not what was found. */
const clause = /(?:^|: )(?<found>(?:(?!: ).)+), expected (?<expected>.+?)(?=$|[;:]| \()/s;
const subject = /^(?:"[^"]*"|[^"])*?\b(?:is|are|has|have|holds|claims|add up to) /s;
const unequal = /(?:^| )(?<found>\S+) does not equal (?<expected>\S+?)(?=$|[;:,])/;

function foundIn(message: string): Pick<ErrorReport, "found" | "expected"> {
  for (const wording of [...wordings, unequal]) {
    const groups = wording.exec(message)?.groups;
    if (groups !== undefined) return { found: groups["found"] ?? null, expected: groups["expected"] ?? null };
  }
  const { found, expected } = clause.exec(message)?.groups ?? {};
  return { found: found?.replace(subject, "") ?? null, expected: expected ?? null };
}
