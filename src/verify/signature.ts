/** @file Whether two models take and give the same, and whether they can be compared by running them at all. */
import { hasAttribute } from "../ir/attributes.ts";
import { dtypes } from "../ir/dtype.ts";
import { InputError } from "../ir/errors.ts";
import { labelOf, type Model, type Value } from "../ir/model.ts";
import { nodesOf } from "../ir/nodes.ts";
import { requiredInputs } from "../ir/symbols.ts";
import { type ModelWithFiles, weightFiles } from "../onnx/weights.ts";
import { isRandom } from "../ops/ask.ts";
import type { Budget } from "./budget.ts";

/** Throws InputError: `weights-missing`, or `random-operator`. */
export function checkRunnable(model: ModelWithFiles): void {
  const absent = weightFiles(model).find(({ present }) => !present);
  if (absent !== undefined) {
    throw new InputError(
      "weights-missing",
      `${model.path}: its weights are in "${absent.location}", which is not there; models cannot be compared without them`,
    );
  }
  for (const node of nodesOf(model)) {
    // With a seed, the same numbers in every session.
    if (!isRandom(node) || hasAttribute(node, "seed")) continue;
    throw new InputError(
      "random-operator",
      `${model.path}: ${node.opType} "${labelOf(node)}" draws random numbers, other ones in every run; such models cannot be compared`,
    );
  }
}

/** Differences of inputs and outputs, as sentences. Under a half budget, floats may be of another width. */
export function signatureProblems(original: Model, candidate: Model, budget: Budget): string[] {
  return [
    ...compareValues("input", requiredInputs(original), requiredInputs(candidate), budget),
    ...compareValues("output", original.graph.outputs, candidate.graph.outputs, budget),
  ];
}

function compareValues(
  what: string,
  before: readonly Value[],
  after: readonly Value[],
  budget: Budget,
): string[] {
  const there = new Map(after.map((value) => [value.name, value]));
  const known = new Set(before.map(({ name }) => name));
  const problems: string[] = [];
  for (const value of before) {
    const other = there.get(value.name);
    if (other === undefined) problems.push(`${what} "${value.name}" is gone`);
    else if (!isCompatible(value, other, budget)) {
      problems.push(`${what} "${value.name}" was ${typeText(value)} and is ${typeText(other)}`);
    }
  }
  for (const { name } of after) if (!known.has(name)) problems.push(`${what} "${name}" is new`);
  return problems;
}

function isCompatible({ declared: a }: Value, { declared: b }: Value, budget: Budget): boolean {
  if (a?.kind !== "tensor" || b?.kind !== "tensor") return a?.kind === b?.kind;
  if (a.dtype === b.dtype || a.dtype === undefined || b.dtype === undefined) return true;
  return budget.kind === "half" && dtypes[a.dtype].kind === "float" && dtypes[b.dtype].kind === "float";
}

function typeText({ declared }: Value): string {
  if (declared?.kind !== "tensor") return declared?.kind ?? "of no declared type";
  return declared.dtype ?? "a tensor";
}
