/** @file What a model is validated in: as it is stored where it has been brought to half already, FP16 otherwise. */
import type { Precision } from "../../../cuda-runtime/plan/precision.ts";
import { inferFacts } from "../../facts/infer.ts";
import { openModel } from "../../onnx/open.ts";
import { type Budget, budgets, type HalfType } from "../../verify/budget.ts";
import { roundsToCodes } from "../../verify/code-ways.ts";

/** TF32 keeps as many bits of a factor as FP16 does. `model` may be of any precision; what it stores decides. */
const budgetOf: Readonly<Record<Precision, Budget>> = {
  fp32: { kind: "relative", tolerance: 1e-4 },
  model: { kind: "relative", tolerance: 1e-4 },
  tf32: budgets.float16,
  fp16: budgets.float16,
  bf16: budgets.bfloat16,
};

/** What rounding one way does, it may do the other way round in another. */
const codesFactor = 4;

export interface Judgement {
  readonly precision: Precision;
  readonly budget: Budget;
}

/**
 * Where nobody says a precision, the nodes that a fix left FP32 in a half model stay FP32: they were left so because half
 * does not hold them. Throws InputError where the model cannot be read.
 */
export function judgementOf(path: string, asked: Precision | undefined): Judgement {
  if (asked !== undefined && asked !== "model") return { precision: asked, budget: budgetIn(path, asked) };
  const stored = storedHalf(path);
  if (stored !== undefined) return { precision: "model", budget: budgets[stored] };
  const precision = asked ?? "fp16";
  return { precision, budget: budgetIn(path, precision) };
}

/** What rounds to codes inside is not held to the rounding of floats. */
function budgetIn(path: string, precision: Precision): Budget {
  const budget = budgetOf[precision];
  if (budget.kind !== "relative") return budget;
  using model = openModel(path);
  return roundsToCodes(model) ? { ...budget, codesFactor } : budget;
}

/** The half type that values of the main graph have; undefined where none has. */
function storedHalf(path: string): HalfType | undefined {
  using model = openModel(path);
  const { root } = inferFacts(model);
  let found: HalfType | undefined;
  for (const value of model.graph.values.values()) {
    const fact = root.fact(value);
    if (fact?.kind !== "tensor") continue;
    // The coarser type sets the budget.
    if (fact.dtype === "bfloat16") return "bfloat16";
    if (fact.dtype === "float16") found = "float16";
  }
  return found;
}
