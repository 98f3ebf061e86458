/**
 * @file What a run without rights hands to one that has them, as an artifact: figures, not text. A fork's workflow may upload what it
 * likes; what is posted is written from figures that have the shape of a comparison, so that names in it stay names.
 */
import compareSchema from "../../schemas/compare-report.schema.json" with { type: "json" };
import type { CompareReport } from "../compare/result.ts";
import { writeReportFile } from "../files/report-file.ts";
import { findGpu } from "../hardware/gpus.ts";
import { findStack } from "../hardware/stacks.ts";
import { InputError } from "../ir/errors.ts";
import { precisions } from "../settings/rule-selectors.ts";
import { readSmallFile } from "../wire/small-file.ts";
import { type JsonSchema, mismatchOf } from "./json-schema.ts";

export interface Carried {
  readonly version: 1;
  /** A claim, until GitHub says the same. */
  readonly pullRequest: number;
  readonly comparison: CompareReport;
}

const schema: JsonSchema = {
  type: "object",
  properties: {
    version: { const: 1 },
    pullRequest: { type: "integer", minimum: 1 },
    comparison: { $ref: "#/definitions/report" },
  },
  required: ["version", "pullRequest", "comparison"],
  additionalProperties: false,
  definitions: { ...compareSchema.definitions, report: shapeOf(compareSchema) },
};

function shapeOf({ definitions: _, ...shape }: JsonSchema): JsonSchema {
  return shape;
}

/** Lists of kernels and nodes of thousands of models come to less. */
const mostBytes = 64 << 20;

export function writeCarried(path: string, carried: Carried): void {
  writeReportFile(path, `${JSON.stringify(carried)}\n`);
}

/** Throws InputError `bad-comment-file` where it is anything else than what `writeCarried` writes. */
export function readCarried(path: string): Carried {
  const refuse = (what: string) => new InputError("bad-comment-file", `${path}: ${what}; nothing is posted`);
  let value: unknown;
  try {
    value = JSON.parse(readSmallFile(path, mostBytes).toString("utf8"));
  } catch (error) {
    if (error instanceof SyntaxError) throw refuse("is no JSON");
    throw error;
  }
  const wrong = mismatchOf(value, schema);
  if (wrong !== undefined) throw refuse(`is no comparison of this version of tc-lint (${wrong})`);
  const carried = value as Carried;
  if (!carried.comparison.models.every(hasKnownTargets))
    throw refuse("is of a GPU or a stack that is not known");
  return carried;
}

/** Reports write the names of the tool's own rows as they are. */
function hasKnownTargets({ target, budgets = [] }: CompareReport["models"][number]): boolean {
  return [target, ...budgets.map((budget) => budget.target)].every(
    ({ gpu, stack, precision }) =>
      findGpu(gpu)?.id === gpu &&
      findStack(stack) !== undefined &&
      precisions.some((each) => each === precision),
  );
}
